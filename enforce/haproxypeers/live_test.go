package haproxypeers_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard/enforce"
	"edgeguard/enforce/enforcetest"
	"edgeguard/enforce/haproxypeers"
	"edgeguard/haproxy"
	"edgeguard/haproxy/peers"
	"edgeguard/internal/program"
)

// patience bounds every wait for something that must happen. HAProxy itself waits up to
// 5 s in places.
const patience = time.Minute

// proxy is a running HAProxy with the tables of blocks. Its clients say in a header which
// address they have.
type proxy struct {
	folder string
	http   *http.Client
	faster time.Duration // by how much its times are shorter than the tables'
}

// startHAProxy runs $EDGEGUARD_HAPROXY, or the one that is installed. declarations are
// the lines of the tables.
func startHAProxy(t testing.TB, declarations string) *proxy {
	t.Helper()
	binary, err := exec.LookPath(cmp.Or(os.Getenv("EDGEGUARD_HAPROXY"), "haproxy"))
	if err != nil {
		binary, err = exec.LookPath("/usr/sbin/haproxy")
	}
	if err != nil {
		t.Skip("haproxy is not installed: apt-get install haproxy")
	}
	folder, err := os.MkdirTemp("", "peers") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	conf := fmt.Sprintf(`global
    localpeer test
    nbthread 1
defaults
    mode http
    timeout connect 60s
    timeout client 60s
    timeout server 60s
peers edgeguard
    bind unix@%[1]s/peers.sock
    server test
    server edgeguard unix@%[1]s/edgeguard.sock
%[2]s
frontend web
    bind unix@%[1]s/http.sock
    http-request set-src hdr(x-src)
%[3]s
    http-request deny deny_status 429 if %[4]s
    http-request return status 200
`, folder, declarations, haproxy.BlockRuleLines("edgeguard"), haproxy.IfBlocked)
	file := filepath.Join(folder, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	run := exec.Command(binary, "-db", "-f", file)
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("%s\nhaproxy said:\n%s", conf, &out)
		}
	})
	p := &proxy{folder: folder, faster: 1, http: &http.Client{Timeout: patience, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(folder, "http.sock"))
		},
	}}}
	program.Eventually(t, "HAProxy answers", func() bool {
		_, err := p.http.Get("http://x/")
		return err == nil
	})
	return p
}

// refuses reports whether a request from addr is refused.
func (p *proxy) refuses(t testing.TB, addr netip.Addr) bool {
	t.Helper()
	req, err := http.NewRequest("GET", "http://x/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Src", addr.String())
	res, err := p.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("%s: status %d", addr, res.StatusCode)
	}
	return res.StatusCode == http.StatusTooManyRequests
}

// probes counts the addresses that tell what HAProxy has.
var probes atomic.Uint32

// session teaches one HAProxy what a follower says.
type session struct {
	t        testing.TB
	conn     net.Conn
	proxy    *proxy
	follower *haproxypeers.Follower
	stop     chan struct{}
	done     sync.WaitGroup

	writing sync.Mutex // guards what is written, and id
	id      uint32

	reading sync.Mutex // guards all below
	asked   bool       // HAProxy wants a whole list
	have    bool       // we have HAProxy's
}

// definition is that of the table at this place among those that HAProxy is taught.
func definition(place int) *peers.Definition {
	t := haproxy.BlockTables()[place]
	return &peers.Definition{
		ID: uint64(place + 1), Name: "/" + t.Name, Key: peers.IPv6, KeyBytes: 16, Expire: t.Expire,
		Stored: []peers.Stored{{Type: peers.GPT0, Elements: 1}},
	}
}

// connect opens a session. It returns when HAProxy has all that is in force.
func (p *proxy) connect(t testing.TB, e *haproxypeers.Teacher) *session {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(p.folder, "peers.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, conn: conn, follower: e.NewFollower(), stop: make(chan struct{}), proxy: p}
	hello := fmt.Appendf(nil, "HAProxyS 2.1\ntest\nedgeguard %d 1\n", os.Getpid())
	status := make([]byte, len("200\n"))
	if _, err := conn.Write(hello); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, status); err != nil || string(status) != "200\n" {
		t.Fatalf("%q, %v", status, err)
	}
	if _, err := conn.Write(peers.AppendControl(nil, peers.ResyncRequest)); err != nil {
		t.Fatal(err)
	}
	s.done.Go(s.read)
	t.Cleanup(s.close)
	program.Eventually(t, "the list of HAProxy", func() bool { s.reading.Lock(); defer s.reading.Unlock(); return s.have })
	s.done.Go(s.write)
	s.sync()
	return s
}

// close ends the session as the end of the process does.
func (s *session) close() {
	select {
	case <-s.stop:
		return
	default:
	}
	close(s.stop)
	_ = s.conn.Close()
	s.done.Wait()
	s.follower.Leave()
}

func (s *session) read() {
	var tables peers.Tables
	var update peers.Update
	var have []byte
	chunk := make([]byte, 16<<10)
	for {
		n, err := s.conn.Read(chunk)
		if err != nil {
			return
		}
		have = append(have, chunk[:n]...)
		for {
			m, n, err := peers.NextMessage(have)
			if err != nil {
				s.t.Error(err)
				return
			}
			if n == 0 {
				break
			}
			s.message(m, &tables, &update)
			have = have[n:]
		}
	}
}

func (s *session) message(m peers.Message, tables *peers.Tables, update *peers.Update) {
	s.reading.Lock()
	defer s.reading.Unlock()
	var err error
	switch m.Kind {
	case peers.ResyncRequest:
		s.asked = true
	case peers.ResyncFinished, peers.ResyncPartial:
		_, err = s.conn.Write(peers.AppendControl(nil, peers.ResyncConfirm))
		s.have = true
	case peers.TableDefinition:
		_, err = tables.Define(m)
	case peers.TableSwitch:
		_, err = tables.Switch(m)
	case peers.UpdateWithID, peers.UpdateNext, peers.TimedUpdateWithID, peers.TimedUpdateNext:
		if err = tables.Read(m, update); err == nil {
			for i, table := range haproxy.BlockTables() {
				if update.Table.Name == "/"+table.Name {
					s.follower.Holds(time.Now(), i, update.Addr(), uint32(update.Numbers[0]))
				}
			}
		}
	}
	if err != nil {
		select {
		case <-s.stop:
		default:
			s.t.Errorf("%v: %v", m.Kind, err)
		}
	}
}

func (s *session) write() {
	for {
		next := s.teach()
		timer := time.NewTimer(time.Until(next))
		select {
		case <-s.stop:
			timer.Stop()
			return
		case <-s.follower.Due():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// teach writes all that is due.
func (s *session) teach() (next time.Time) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.reading.Lock()
	again := s.asked
	s.asked = false
	s.reading.Unlock()
	if again {
		s.follower.Again()
	}
	for {
		now := time.Now()
		entries, next := s.follower.Take(now, nil)
		var out []byte
		table := -1
		for _, e := range entries {
			if e.Table != table {
				table = e.Table
				out = peers.AppendDefinition(out, definition(table))
			}
			s.id++
			e.TTL /= s.proxy.faster
			out = peers.AppendEntry(out, s.id, e.Entry)
		}
		if again && next.After(now) {
			out = peers.AppendControl(out, peers.ResyncFinished)
		}
		if _, err := s.conn.Write(out); err != nil {
			return now.Add(patience)
		}
		if next.After(now) {
			return next
		}
	}
}

// sync returns when HAProxy has all that is due: it takes one after the other, and at the
// end an address that no test has. (3.x does not acknowledge everything.)
func (s *session) sync() {
	s.t.Helper()
	select {
	case <-s.stop:
		return
	default:
	}
	s.teach()
	n := probes.Add(1)
	probe := netip.AddrFrom4([4]byte{240, byte(n >> 16), byte(n >> 8), byte(n)})
	s.writing.Lock()
	s.id++
	out := peers.AppendDefinition(nil, definition(1))
	_, err := s.conn.Write(peers.AppendEntry(out, s.id, peers.Entry{Key: probe, Value: haproxy.BlockedGPT, TTL: time.Second}))
	s.writing.Unlock()
	if err != nil {
		s.t.Fatal(err)
	}
	program.Eventually(s.t, "HAProxy has it", func() bool { return s.proxy.refuses(s.t, probe) })
}

// bench is the conformance suite's: each enforcer with a session of its own.
type bench struct {
	proxy   *proxy
	session *session
}

// closing ends its session with the enforcer.
type closing struct {
	*haproxypeers.Teacher
	session *session
}

func (c closing) Close() error {
	c.session.sync()
	c.session.close()
	return c.Teacher.Close()
}

func (b *bench) new(t *testing.T) enforce.Enforcer {
	e := haproxypeers.New()
	b.session = b.proxy.connect(t, e)
	return closing{e, b.session}
}

func (b *bench) denied(t *testing.T, addr netip.Addr) bool {
	b.session.sync()
	return b.proxy.refuses(t, addr)
}

func TestConformance(t *testing.T) {
	b := &bench{proxy: startHAProxy(t, haproxy.BlockTableLines())}
	enforcetest.Run(t, enforcetest.Bench{New: b.new, Denied: b.denied, Narrow: true})
}
