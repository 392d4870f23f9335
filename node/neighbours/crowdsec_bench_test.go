package neighbours

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/crowdsec"
	"edgeguard/node/alarm"
)

// BenchmarkTaken is the whole way of 100,000 decisions: asked for over HTTP on loopback, read,
// and held; and the same list again, as each hour. The memory is what is held between them.
func BenchmarkTaken(b *testing.B) {
	answer := decisionsList(100_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	defer server.Close()
	c, err := crowdsec.NewClient(crowdsec.ClientConfig{URL: server.URL, Version: "test"})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	key := secret(b, "k")
	fresh := func() *decisions {
		clock := clockguard.New(clockguard.Read(), clockguard.Config{})
		deps := CrowdSecDeps{
			Set: imported.New(imported.Config{Own: blocklist.New(blocklist.Config{}), Node: "n1"}), Clock: clock,
			Alarms: alarm.New(func(edgeguard.Alarm) {}, func(string, string) {}), Log: slog.New(slog.DiscardHandler),
		}
		return newDecisions(deps, config.CrowdSecDecisions{LAPIServer: config.LAPIServer{URL: server.URL}, KeyFile: key, Most: 100_000}, &decisionsFile{deps: deps})
	}
	pull := func(s *decisions) time.Duration {
		began := time.Now()
		if err := s.pull(b.Context(), c, crowdsec.NewFollower()); err != nil || countDecisions(s.deps.Set) != 100_000 {
			b.Fatal(err, countDecisions(s.deps.Set))
		}
		return time.Since(began)
	}
	b.ReportAllocs()
	var first, again time.Duration
	var kept uint64
	for b.Loop() {
		before := inUse()
		s := fresh()
		first += pull(s)
		kept += inUse() - before
		again += pull(s)
		runtime.KeepAlive(s)
	}
	n := float64(b.N)
	b.ReportMetric(float64(first.Milliseconds())/n, "first-ms")
	b.ReportMetric(float64(again.Milliseconds())/n, "again-ms")
	b.ReportMetric(float64(kept)/n/(1<<20), "held-MiB")
}

// inUse returns the bytes that are reachable.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
