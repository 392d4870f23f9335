package detector_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// benchEvents are requests of many addresses, one by one each second.
func benchEvents() (nows []time.Time, events []edgeguard.Event) {
	for i := range 1 << 14 {
		at := epoch.Add(time.Duration(i) * time.Millisecond)
		ev := request(fmt.Sprintf("10.0.%d.%d", i*7919>>8&63, i*7919&255), at)
		ev.Known, ev.Method, ev.Path = edgeguard.FieldMethod|edgeguard.FieldPath, "POST", "/login"
		nows, events = append(nows, at), append(events, ev)
	}
	return nows, events
}

func benchDetector(b *testing.B, specs ...rules.Spec) *detector.Detector {
	return detector.New(detector.Config{Rules: compile(b, specs...), Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{})})
}

// BenchmarkGuard is what the outage watch costs an event in a batch: answers are shown to
// it, and redirects are not.
func BenchmarkGuard(b *testing.B) {
	own, _ := rules.ParseHosts([]string{"example.org", "www.example.org"})
	for _, status := range []uint16{302, 200} {
		b.Run(fmt.Sprint(status), func(b *testing.B) {
			nows, events := benchEvents()
			for i := range events {
				ev := &events[i]
				ev.Addr = events[i%509].Addr                                   // they come again
				nows[i] = epoch.Add(time.Duration(i) * 500 * time.Microsecond) // none is late at the next round
				ev.Time = nows[i]
				ev.Kind |= edgeguard.KindResponse
				ev.Verified, ev.Known, ev.Status, ev.Host = ev.Kind, ev.Known|edgeguard.FieldStatus|edgeguard.FieldHost, status, "www.example.org"
			}
			d := detector.New(detector.Config{
				Rules:  compile(b, rules.Spec{Name: "site", Threshold: 60000}, rules.Spec{Name: "errors", Threshold: 60000, Match: rules.Match{Status: []string{"500-599"}}}),
				Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}), Own: own,
			})
			verdicts := make([]edgeguard.Verdict, 64)
			b.ReportAllocs()
			for i := range b.N / 64 {
				from := i * 64 % len(events)
				d.DecideBatch(nows[from:from+64], events[from:from+64], verdicts)
			}
		})
	}
}

// BenchmarkDecision is the cost of one decision: of addresses under every limit,
// of one that is over a `deny` rule, and of one that is blocked.
func BenchmarkDecision(b *testing.B) {
	site := rules.Spec{Name: "site", Threshold: 60000}
	login := rules.Spec{Name: "login", Threshold: 60000, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login*"}}}
	nows, events := benchEvents()
	b.Run("passed", func(b *testing.B) {
		d := benchDetector(b, site, login)
		for i := range b.N {
			d.Decide(nows[i%len(nows)], &events[i%len(events)])
		}
	})
	b.Run("passed-in-fleet", func(b *testing.B) {
		d := detector.New(detector.Config{
			Rules: compile(b, rules.Spec{Name: "site", Threshold: 60000, Scope: rules.ScopeFleet}, login), Memory: shard.NewMemory(64 << 20),
			List: blocklist.New(blocklist.Config{}), Fleet: func(int, *shard.Op, uint32) uint32 { return 1 },
		})
		b.ReportAllocs()
		for i := range b.N {
			d.Decide(nows[i%len(nows)], &events[i%len(events)])
		}
	})
	b.Run("batch", func(b *testing.B) {
		d := benchDetector(b, site, login)
		verdicts := make([]edgeguard.Verdict, 64)
		for i := range b.N / 64 {
			from := i * 64 % len(events)
			d.DecideBatch(nows[from:from+64], events[from:from+64], verdicts)
		}
	})
	over := func(name string, spec rules.Spec, left time.Duration) {
		spec.Name, spec.Threshold, spec.Key = "r", 1, rules.Group{V4: 16}
		spec.BlockFor = 10 * time.Minute
		at := epoch.Add(10*time.Minute - left)
		b.Run(name, func(b *testing.B) {
			d := benchDetector(b, site, login, spec)
			for i := range 3 {
				d.Decide(epoch, &events[i])
			}
			for i := range 3 {
				d.Decide(at, &events[i])
			}
			ev := events[0]
			ev.Time = at
			b.ResetTimer()
			for range b.N {
				d.Decide(at, &ev)
			}
		})
		b.Run(name+"-batch", func(b *testing.B) {
			d := benchDetector(b, site, login, spec)
			one, many, verdicts := make([]time.Time, 64), make([]edgeguard.Event, 64), make([]edgeguard.Verdict, 64)
			for i := range one {
				one[i], many[i] = at, events[0]
				many[i].Time = at
			}
			d.Decide(epoch, &events[0])
			d.Decide(epoch, &events[1])
			d.Decide(epoch, &events[2])
			b.ResetTimer()
			for range b.N / 64 {
				d.DecideBatch(one, many, verdicts)
			}
		})
	}
	over("denied", rules.Spec{Action: edgeguard.ActionDeny}, time.Minute)
	over("blocked", rules.Spec{}, 10*time.Minute)
	over("blocked-ends", rules.Spec{}, time.Minute)
	over("blocked-while_over", rules.Spec{WhileOver: true}, time.Minute)
	b.Run("looked-up", func(b *testing.B) {
		d := benchDetector(b, site)
		ev := edgeguard.Event{Time: epoch, Addr: netip.MustParseAddr("10.0.0.1")}
		for range b.N {
			d.LookUpVerdict(epoch, &ev)
		}
	})
}
