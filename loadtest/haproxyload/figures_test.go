//go:build linux

package haproxyload

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"edgeguard/admin"
)

// never is a threshold that nothing crosses.
const never = 60_000

// What is measured: requests of each turn and turns, and so on.
const (
	requests, rounds = 100_000, 5
	many             = 500_000
	reloads, between = 10, 50_000
	addresses, limit = 200, 20
	blocked          = 100_000
)

// BenchmarkRequest compares a HAProxy's frontends with and without edgeguard by turns:
// processor time for a request, and how long one takes.
func BenchmarkRequest(b *testing.B) {
	e := newEdge(b, never)
	e.start()
	plain, all := &load{address: e.plain, keys: 10_000, conns: 8}, &load{address: e.address, keys: 10_000, conns: 8}
	var own, added, p50, p99 []float64
	turn := func(l *load) (haproxy, edgeguard time.Duration, times []time.Duration) {
		before, own := processor(b, e.haproxy.Process.Pid), processor(b, e.PID())
		times = l.send(b, requests)
		e.until("all is counted", func() bool { return int64(e.counted()) >= all.answered.Load() })
		return processor(b, e.haproxy.Process.Pid) - before, processor(b, e.PID()) - own, times
	}
	perRequest := func(d time.Duration) float64 {
		return float64(d) / float64(time.Microsecond) / float64(requests)
	}
	turn(plain)
	turn(all)
	for b.Loop() {
		for range rounds {
			without, _, plainTimes := turn(plain)
			with, edgeguard, times := turn(all)
			own = append(own, perRequest(edgeguard))
			added = append(added, perRequest(with-without+edgeguard))
			p50 = append(p50, ratio(quantile(times, 0.5), quantile(plainTimes, 0.5)))
			p99 = append(p99, ratio(quantile(times, 0.99), quantile(plainTimes, 0.99)))
		}
	}
	b.ReportMetric(median(added), "cpu-µs/req")
	b.ReportMetric(median(own), "own-µs/req")
	b.ReportMetric(median(p50), "p50-times")
	b.ReportMetric(median(p99), "p99-times")
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func BenchmarkCounts(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(countsOff(b)), "off")
	}
}

// countsOff returns by how much the count of many requests is wrong.
func countsOff(t testing.TB) int64 {
	e := newEdge(t, never)
	e.start()
	l := &load{address: e.address, keys: 10_000, conns: 8}
	l.send(t, many)
	if l.broken.Load() > 0 {
		t.Fatalf("%d connections ended within a request", l.broken.Load())
	}
	e.until("all is counted", func() bool { return int64(e.counted()) >= l.answered.Load() })
	return int64(e.counted()) - l.answered.Load()
}

func BenchmarkReloads(b *testing.B) {
	for b.Loop() {
		counted, l := throughReloads(b)
		b.ReportMetric(100*float64(l.answered.Load()-counted)/float64(l.answered.Load()), "under-%")
		b.ReportMetric(float64(max(0, counted-l.begun.Load())), "over")
	}
}

// throughReloads reloads HAProxy under load, and returns what is counted.
func throughReloads(t testing.TB) (counted int64, l *load) {
	e := newEdge(t, never)
	e.start()
	l = &load{address: e.address, keys: 1_000, conns: 8}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		l.run(t, func() bool {
			select {
			case <-stop:
				return false
			default:
				return true
			}
		})
	}()
	more := func() {
		want := l.answered.Load() + int64(between)
		e.until("requests are answered", func() bool { return l.answered.Load() >= want })
	}
	for range reloads {
		more()
		e.serve()
		e.until("edgeguard knows the new process", e.learned)
	}
	more()
	close(stop)
	<-ended
	// What is still under way is counted within the reader's pause; an update of a key
	// that is not requested again may be lost with the process that ended.
	last := uint64(1)
	e.until("nothing more is counted", func() bool {
		time.Sleep(200 * time.Millisecond)
		before := last
		last = e.counted()
		return before == last
	})
	return int64(last), l
}

func BenchmarkCrossing(b *testing.B) {
	for b.Loop() {
		times := crossings(b)
		b.ReportMetric(quantile(times, 0.5).Seconds()*1000, "p50-ms")
		b.ReportMetric(quantile(times, 0.99).Seconds()*1000, "p99-ms")
	}
}

// crossings returns how long it takes from the request that crosses a limit to the
// first that HAProxy refuses, an address after the other.
func crossings(t testing.TB) (times []time.Duration) {
	e := newEdge(t, limit)
	e.start()
	c, err := net.Dial("tcp", e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(c)
	ask := func(n int) int {
		if _, err := c.Write(appendRequest(nil, address(n))); err != nil {
			t.Fatal(err)
		}
		status, goesOn, err := readAnswer(r)
		if err != nil || !goesOn {
			t.Fatal("HAProxy closed the connection: ", err)
		}
		return status
	}
	for n := range addresses {
		for range limit {
			if status := ask(n); status != 204 {
				t.Fatalf("address %d is refused (%d) before it crosses the limit", n, status)
			}
		}
		began := time.Now()
		for ask(n) != 429 {
			if time.Since(began) > patience {
				t.Fatalf("address %d is not refused", n)
			}
		}
		times = append(times, time.Since(began))
	}
	return times
}

func BenchmarkTaught(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(taught(b).Seconds(), "s")
	}
}

// taught returns how long it takes from HAProxy's connection until it has all blocks.
func taught(t testing.TB) time.Duration {
	e := newEdge(t, never)
	e.launch()
	for first := 0; first < blocked; first += admin.MostBulk {
		var r admin.BulkRequest
		for n := first; n < min(first+admin.MostBulk, blocked); n++ {
			r.Blocks = append(r.Blocks, admin.BulkEntry{Prefix: fmt.Sprint(address(n)), For: "1h"})
		}
		if _, err := e.admin.Import(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	e.serve()
	e.until("edgeguard knows HAProxy's tables", e.learned)
	e.until("HAProxy has all blocks", func() bool { return e.entries() >= blocked })
	got := time.Now()
	stats, err := e.admin.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got.Sub(stats.HAProxies[0].HAProxies[0].Since)
}
