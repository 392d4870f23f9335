package peers_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/haproxy/peers"
)

// record writes what HAProxy sent into testdata, for TestRecorded.
var record = flag.Bool("record", false, "record what HAProxy sends in testdata")

// patience is how long a test waits for what must come. HAProxy itself waits up to
// 5 s for its old process, and as long before it dials again.
const patience = time.Minute

const liveConfig = `
global
  localpeer ha1
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
peers eg
  bind unix@%[1]s/peers.sock
  server ha1
  server edgeguard %[2]s
  table counts type ipv6 size 1k expire 10m store gpc(3),http_req_rate(10s)
  table blocks type ipv6 size 1k expire 5m store gpt0
  table names type string len 32 size 1k expire 1h store http_req_cnt
frontend f
  bind unix@%[1]s/http.sock
  http-request set-src hdr(x-src)
  http-request track-sc0 src,ipmask(32,64) table eg/counts
  http-request track-sc1 path table eg/names
  http-request sc-inc-gpc(0,0)
  http-request sc-inc-gpc(1,0) if METH_POST
  http-request deny deny_status 429 if { src,ipmask(32,64),table_gpt0(eg/blocks) eq 1 }
  http-request return status 200
`

// TestHAProxy speaks with a real HAProxy through all of the protocol that edgeguard
// uses. EDGEGUARD_HAPROXY names another program than the one that is installed.
func TestHAProxy(t *testing.T) {
	s := startHAProxy(t)
	s.hello()
	s.until("the request for a resync", func() bool { return s.seen[peers.ResyncRequest] > 0 })

	blocks := &peers.Definition{ID: 7, Name: "/blocks", Key: peers.IPv6, KeyBytes: 16, Stored: []peers.Stored{{Type: peers.GPT0, Elements: 1}}, Expire: 5 * time.Minute}
	blocked := netip.MustParseAddr("203.0.113.5")
	b := peers.AppendDefinition(nil, blocks)
	b = peers.AppendEntry(b, 1, peers.Entry{Key: blocked, Value: 1, TTL: time.Minute})
	b = peers.AppendControl(b, peers.ResyncFinished)
	s.send(b)
	s.until("the confirmation of the resync", func() bool { return s.seen[peers.ResyncConfirm] > 0 })
	// 3.x acknowledges only what it was taught after the resync.

	s.ask("GET", "192.0.2.1", http.StatusOK)
	s.ask("POST", "192.0.2.1", http.StatusOK)
	s.ask("GET", "2001:db8:1:2:3:4:5:6", http.StatusOK)
	s.ask("GET", blocked.String(), http.StatusTooManyRequests)
	for range 300 {
		s.ask("GET", "198.51.100.7", http.StatusOK)
	}
	want := map[string]string{
		"192.0.2.1": "2,1,0", "2001:db8:1:2::": "1,0,0", "203.0.113.5": "1,0,0", "198.51.100.7": "300,0,0",
	}
	s.until("the counts", func() bool { return same(s.counts, want) && s.paths == "304" })

	s.send(peers.AppendEntry(peers.AppendDefinition(nil, blocks), 2, peers.Entry{Key: blocked}))
	s.until("the acknowledgement of the block's end", func() bool { return s.acknowledged[7] == 2 })
	s.ask("GET", blocked.String(), http.StatusOK)
	want["203.0.113.5"] = "2,0,0"

	clear(s.counts)
	s.send(peers.AppendControl(nil, peers.ResyncRequest))
	s.until("a whole resync", func() bool { return s.seen[peers.ResyncFinished] > 0 })
	if !same(s.counts, want) {
		t.Errorf("counts after a resync: %v, want %v", s.counts, want)
	}
	if s.seen[peers.TimedUpdateWithID] == 0 {
		t.Error("a resync without a timed update")
	}
	s.send(peers.AppendControl(nil, peers.ResyncConfirm))
	s.ask("GET", "192.0.2.1", http.StatusOK)
	want["192.0.2.1"] = "3,1,0"
	s.until("counts after the resync", func() bool { return same(s.counts, want) })
	s.write("haproxy")
}

func same(got, want map[string]string) bool { return fmt.Sprint(got) == fmt.Sprint(want) }

// session is edgeguard's side of a connection, as a test drives it.
type session struct {
	t            *testing.T
	conn         net.Conn
	http         *http.Client
	version      string
	recorded     []byte
	buffer       []byte
	tables       peers.Tables
	update       peers.Update
	seen         map[peers.Kind]int
	counts       map[string]string
	paths        string
	acknowledged map[uint64]uint32
}

func startHAProxy(t *testing.T) *session {
	program := cmp.Or(os.Getenv("EDGEGUARD_HAPROXY"), "haproxy")
	version, err := exec.Command(program, "-v").Output()
	if err != nil {
		t.Skipf("HAProxy is not installed: apt-get install haproxy: %v", err)
	}
	folder, err := os.MkdirTemp("", "peers") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	config := filepath.Join(folder, "haproxy.cfg")
	if err := os.WriteFile(config, fmt.Appendf(nil, liveConfig, folder, l.Addr()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, program, "-db", "-f", config)
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &session{t: t, conn: conn, version: strings.Fields(string(version))[2]}
	s.seen, s.counts, s.acknowledged = map[peers.Kind]int{}, map[string]string{}, map[uint64]uint32{}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(folder, "http.sock"))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	s.http = &http.Client{Transport: transport, Timeout: patience}
	return s
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	var said bytes.Buffer
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s printed:\n%s", program, &said)
		}
	})
}

func (s *session) hello() {
	s.t.Helper()
	for {
		h, n, err := peers.ReadHello(s.buffer)
		if err != nil {
			s.t.Fatal(err)
		}
		if n == 0 {
			s.read()
			continue
		}
		if h.To != "edgeguard" || h.From != "ha1" || h.PID == 0 || n != len(s.buffer) {
			s.t.Fatalf("hello %+v of %d in %d bytes", h, n, len(s.buffer))
		}
		s.buffer = nil
		s.send(peers.AppendStatus(nil, peers.Accepted))
		return
	}
}

func (s *session) read() {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := s.conn.Read(b)
	if err != nil && err != io.EOF || n == 0 {
		s.t.Fatalf("the connection ended: %v", err)
	}
	s.buffer, s.recorded = append(s.buffer, b[:n]...), append(s.recorded, b[:n]...)
}

func (s *session) send(b []byte) {
	s.t.Helper()
	if _, err := s.conn.Write(b); err != nil {
		s.t.Fatal(err)
	}
}

// until reads messages until something is so. It keeps the connection alive.
func (s *session) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not within %v; counts %v, paths %s", what, patience, s.counts, s.paths)
		}
		m, n, err := peers.NextMessage(s.buffer)
		if err != nil {
			s.t.Fatal(err)
		}
		if n == 0 {
			s.read()
			continue
		}
		s.receive(m)
		s.buffer = s.buffer[n:]
	}
}

func (s *session) receive(m peers.Message) {
	s.t.Helper()
	s.seen[m.Kind]++
	var err error
	switch m.Kind {
	case peers.Heartbeat:
		s.send(peers.AppendControl(nil, peers.Heartbeat))
	case peers.TableDefinition:
		_, err = s.tables.Define(m)
	case peers.Acknowledge:
		var table uint64
		var id uint32
		if table, id, err = peers.ReadAcknowledge(m); err == nil {
			s.acknowledged[table] = id
		}
	case peers.UpdateWithID, peers.UpdateNext, peers.TimedUpdateWithID, peers.TimedUpdateNext:
		if err = s.tables.Read(m, &s.update); err == nil {
			s.count()
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) count() {
	u := &s.update
	switch u.Table.Name {
	case "/counts":
		at, n := u.Table.Place(peers.GPC)
		s.counts[u.Addr().String()] = strings.Trim(strings.ReplaceAll(fmt.Sprint(u.Numbers[at:at+n]), " ", ","), "[]")
	case "/names":
		at, _ := u.Table.Place(peers.HTTPReqCnt)
		s.paths = fmt.Sprint(u.Numbers[at])
	}
}

func (s *session) ask(method, from string, want int) {
	s.t.Helper()
	s.send(peers.AppendControl(nil, peers.Heartbeat)) // HAProxy closes after 5 s of silence
	req, err := http.NewRequest(method, "http://haproxy/path", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Src", from)
	answer, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != want {
		s.t.Fatalf("%s from %s: %d, want %d", method, from, answer.StatusCode, want)
	}
}

// write keeps what was read, if the test records.
func (s *session) write(name string) {
	if !*record {
		return
	}
	series := strings.Join(strings.SplitN(s.version, ".", 3)[:2], ".")
	series, _, _ = strings.Cut(series, "-")
	if err := os.WriteFile(filepath.Join("testdata", name+"-"+series+".peers"), s.recorded, 0o644); err != nil {
		s.t.Fatal(err)
	}
}
