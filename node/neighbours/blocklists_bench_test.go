package neighbours

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
	"edgeguard/rules"
	"edgeguard/shard"
)

// entries is how many a list of the benchmark has, of which one in a hundred is another
// in the next version.
const entries = 100_000

func version(v int) []byte {
	var b strings.Builder
	for i := v * entries / 100; i < entries+v*entries/100; i++ {
		if i%5 == 0 {
			fmt.Fprintf(&b, "2a02:%x:%x::/64 ; SBL%d\n", i>>16, i&0xffff, i)
		} else {
			fmt.Fprintf(&b, "%d.%d.%d.%d ; SBL%d\n", 20+i>>24, i>>16&255, i>>8&255, i&255, i)
		}
	}
	return []byte(b.String())
}

// benchNode is what of a node takes part: a list by HTTPS, the set, and decisions.
func benchNode(b *testing.B, texts [][]byte, next *atomic.Int32) (*Subscription, *detector.Detector) {
	b.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := texts[int(next.Load())%len(texts)]
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write(text)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	b.Cleanup(server.Close)
	ca := filepath.Join(b.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		b.Fatal(err)
	}
	compiled, err := rules.Compile([]rules.Spec{{Name: "site", Threshold: 60000}})
	if err != nil {
		b.Fatal(err)
	}
	own := blocklist.New(blocklist.Config{})
	set := imported.New(imported.Config{Own: own, Node: "bench"})
	d := detector.New(detector.Config{Rules: compiled, Memory: shard.NewMemory(64 << 20), List: own, Imported: set})
	same := func(t time.Time) time.Time { return t }
	sub := newSubscription(BlocklistDeps{Set: set, Epoch: same, Local: same, Log: slog.New(slog.DiscardHandler), State: b.TempDir()},
		supervisor.Config{Alarms: alarm.New(func(a edgeguard.Alarm) { b.Error(a.Text) }, func(string, string) {}), Now: time.Now},
		config.BlocklistSource{Name: "list", URL: server.URL, CAFile: ca, Every: time.Hour, Stale: 24 * time.Hour, Most: entries})
	return sub, d
}

// decide decides until stopped, and returns how long each decision took: one address in
// two is in the list.
func decide(d *detector.Detector, stop <-chan struct{}) (took []time.Duration) {
	var events [4096]edgeguard.Event
	for i := range events {
		addr := netip.AddrFrom4([4]byte{byte(20 + i%2*50), 0, byte(i * 7919 >> 8), byte(i * 7919)})
		events[i] = edgeguard.Event{Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
	}
	took = make([]time.Duration, 0, 1<<24)
	for i := 0; len(took) < cap(took); i++ {
		select {
		case <-stop:
			return took
		default:
		}
		now := time.Now()
		e := &events[i%len(events)]
		e.Time = now
		d.Decide(now, e)
		took = append(took, time.Since(now))
	}
	return took
}

// BenchmarkList is a list of 100,000 entries, a fifth of them IPv6, that is fetched by
// HTTPS and taken in, and fetched again with one in a hundred lifted and as many new; and
// what decisions take beside that and without it. To reach: 3 s for both fetches.
func BenchmarkList(b *testing.B) {
	texts := [][]byte{version(0), version(1)}
	var first, second time.Duration
	var beside, alone []time.Duration
	for b.Loop() {
		var next atomic.Int32
		sub, d := benchNode(b, texts, &next)
		run := func(work func()) []time.Duration {
			stop, ended := make(chan struct{}), make(chan []time.Duration)
			go func() { ended <- decide(d, stop) }()
			work()
			close(stop)
			return <-ended
		}
		look := func(v int32) time.Duration {
			next.Store(v)
			begun := time.Now()
			if !sub.look(b.Context()) || sub.state.outcome.InForce != entries {
				b.Fatalf("%+v", sub.state.outcome)
			}
			return time.Since(begun)
		}
		var works time.Duration
		beside = run(func() {
			first, second = look(0), look(1)
			if o := sub.state.outcome; o.Lifted != entries/100 || o.Added != entries/100 {
				b.Fatalf("%+v", o)
			}
			for v := range int32(20) {
				works += look(v)
			}
		})
		alone = run(func() { time.Sleep(works) })
	}
	b.ReportMetric(float64(first.Milliseconds()), "first-ms")
	b.ReportMetric(float64(second.Milliseconds()), "next-ms")
	b.ReportMetric(float64((first + second).Milliseconds()), "both-ms")
	for name, took := range map[string][]time.Duration{"beside": beside, "alone": alone} {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), name+"-p99-ns")
		b.ReportMetric(float64(took[len(took)*999/1000].Nanoseconds()), name+"-p99.9-ns")
	}
}
