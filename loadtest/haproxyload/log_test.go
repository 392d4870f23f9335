//go:build linux

package haproxyload

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard/sensor/accesslog"
)

const logGlobal = `
global
  nbthread 2
  stats socket %[1]s/stats.sock mode 600 level admin
  log unix@%[1]s/log.sock len 65535 local0 info
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
frontend all
  bind %[2]s
  http-request set-src hdr(X-Src)
  log global
  option httplog
  http-request return status 204
frontend plain
  bind %[3]s
  http-request set-src hdr(X-Src)
  http-request return status 204
`

const logNode = `
node: test
state: $DIR/state
listen: {auth: [], admin: ["unix:$DIR/admin.sock"]}
sensors:
  accesslog:
    - {listen: "unixgram:$DIR/log.sock", format: haproxy}
rules:
  - {name: site, threshold: 60000, guard: 1}
  - {name: login, threshold: 60000, guard: 1, match: {method: POST, path: /login}}
`

// newLogEdge is a HAProxy whose log edgeguard receives.
func newLogEdge(t testing.TB) *edge {
	t.Helper()
	queue, err := os.ReadFile("/proc/sys/net/unix/max_dgram_qlen")
	if n, _ := strconv.Atoi(strings.TrimSpace(string(queue))); err != nil || n < accesslog.LeastQueue {
		t.Skipf("net.unix.max_dgram_qlen is below %d: most lines would be lost", accesslog.LeastQueue)
	}
	e := newPair(t, logNode)
	e.config = filepath.Join(e.Folder, "haproxy.cfg")
	if err := os.WriteFile(e.config, []byte(fmt.Sprintf(logGlobal, e.Folder, e.address, e.plain)), 0o600); err != nil {
		t.Fatal(err)
	}
	e.launch()
	e.serve()
	return e
}

// dropped returns how many lines HAProxy could not send.
func (e *edge) dropped() int {
	e.t.Helper()
	c, err := net.Dial("unix", filepath.Join(e.Folder, "stats.sock"))
	if err != nil {
		e.t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("show info\n")); err != nil {
		e.t.Fatal(err)
	}
	for lines := bufio.NewScanner(c); lines.Scan(); {
		if n, found := strings.CutPrefix(lines.Text(), "DroppedLogs: "); found {
			one, _ := strconv.Atoi(n)
			return one
		}
	}
	e.t.Fatal("HAProxy does not say what it dropped")
	return 0
}

func (e *edge) parsed() (n int) {
	s, err := e.admin.Status(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	for _, l := range s.Logs {
		n += int(l.Parsed)
	}
	return n
}

// logLines are those of a turn, burstLines those of a burst.
const logLines, burstLines = 8_000, 2_000

// BenchmarkLog needs the kernel's longer queue, which a network namespace has of its own:
//
//	unshare -n sh -c 'ip link set lo up; echo 4096 >/proc/sys/net/unix/max_dgram_qlen
//	go test -run "^$" -bench Log -benchtime 1x ./loadtest/haproxyload'
//
// It is what a line of HAProxy's log takes that comes through a unix socket, in
// edgeguard and in sum, and how many lines are lost.
func BenchmarkLog(b *testing.B) {
	e := newLogEdge(b)
	for _, conns := range []int{1, 8, 64} {
		b.Run(strconv.Itoa(conns), func(b *testing.B) {
			l := &load{address: e.address, keys: 10_000, conns: conns}
			var own, whole []float64
			lost := 0
			turn := func(requests int) {
				dropped, parsed := e.dropped(), e.parsed()
				proxy, before := processor(b, e.haproxy.Process.Pid), processor(b, e.PID())
				l.send(b, requests)
				e.until("all is counted", func() bool { return e.parsed()-parsed+e.dropped()-dropped >= requests })
				lost += e.dropped() - dropped
				us, all := processor(b, e.PID())-before, processor(b, e.haproxy.Process.Pid)-proxy
				own = append(own, float64(us)/float64(time.Microsecond)/float64(requests))
				whole = append(whole, float64(us+all)/float64(time.Microsecond)/float64(requests))
			}
			for b.Loop() {
				for range 3 {
					turn(logLines)
				}
			}
			b.ReportMetric(median(own), "own-µs/line")
			b.ReportMetric(median(whole), "all-µs/req")
			b.ReportMetric(float64(lost), "lost")
		})
	}
}

// BenchmarkLogBursts is how many lines HAProxy cannot send while requests come together, over
// 8 connections that do not wait for the answers.
func BenchmarkLogBursts(b *testing.B) {
	e := newLogEdge(b)
	sent, lost := 0, 0
	for b.Loop() {
		for range 60 {
			parsed, dropped := e.parsed(), e.dropped()
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { e.burst(b, burstLines/8) })
			}
			wg.Wait()
			e.until("all is counted", func() bool { return e.parsed()-parsed+e.dropped()-dropped >= burstLines })
			sent, lost = sent+burstLines, lost+e.dropped()-dropped
		}
	}
	b.ReportMetric(100*float64(lost)/float64(sent), "lost-%")
}

// burst sends requests over one connection without waiting for the answers.
func (e *edge) burst(t testing.TB, requests int) {
	c, err := net.Dial("tcp", e.address)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		var all []byte
		for n := range requests {
			all = appendRequest(all, address(n))
		}
		if _, err := c.Write(all); err != nil {
			t.Error(err)
		}
	})
	r := bufio.NewReader(c)
	for range requests {
		if status, _, err := readAnswer(r); err != nil || status != 204 {
			t.Error("answered ", status, err)
			return
		}
	}
}
