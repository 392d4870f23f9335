package detector_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// taken is a sample that a detector took.
type taken struct {
	prefix  netip.Prefix
	path    string
	blocked bool
}

// sampling returns a detector that samples, and what it took.
func sampling(t testing.TB, specs ...rules.Spec) (*detector.Detector, *[]taken) {
	var all []taken
	return detector.New(detector.Config{
		Rules: compile(t, specs...), Memory: shard.NewMemory(16 << 20),
		List: blocklist.New(blocklist.Config{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}),
		Sample: func(_ time.Time, prefix netip.Prefix, event *edgeguard.Event, until time.Time) {
			all = append(all, taken{prefix, event.Path, !until.IsZero()})
		},
	}), &all
}

// numbered returns requests of one address, each with its number as path.
func numbered(addr string, n int) (nows []time.Time, events []edgeguard.Event) {
	for i := range n {
		at := epoch.Add(time.Duration(i) * time.Millisecond)
		ev := request(addr, at)
		ev.Known, ev.Path = edgeguard.FieldPath, fmt.Sprintf("/%d", i+1)
		nows, events = append(nows, at), append(events, ev)
	}
	return nows, events
}

// Samples are taken near the limit, at the crossing, and of each sixteenth request
// that is refused, one by one and in batches; none far from it, none of the exempt.
func TestSamples(t *testing.T) {
	var blocked, denied []taken
	key := netip.MustParsePrefix("203.0.113.9/32")
	for i := 1; i <= 200; i++ {
		switch {
		case i >= 80 && i <= 100 && i%2 == 0: // a fifth of the limit, in parts of 20 / 8
			blocked = append(blocked, taken{key, fmt.Sprintf("/%d", i), false})
		case i > 100 && (i-101)%16 == 0:
			blocked = append(blocked, taken{key, fmt.Sprintf("/%d", i), true})
		}
		if i >= 80 && i <= 100 && i%2 == 0 || i > 100 && i%16 == 0 {
			denied = append(denied, taken{key, fmt.Sprintf("/%d", i), false})
		}
	}
	site := rules.Spec{Name: "site", Threshold: 100, Guard: "1"}
	deny, shadow := site, site
	deny.Action, shadow.Action = edgeguard.ActionDeny, edgeguard.ActionShadow
	for name, c := range map[string]struct {
		spec rules.Spec
		addr string
		want []taken
	}{
		"block": {site, "203.0.113.9", blocked}, "deny": {deny, "203.0.113.9", denied}, "shadow": {shadow, "203.0.113.9", nil}, "allowed": {site, "192.0.2.1", nil},
	} {
		nows, events := numbered(c.addr, 200)
		one, got := sampling(t, c.spec)
		for i := range events {
			one.Decide(nows[i], &events[i])
		}
		if !slices.Equal(*got, c.want) {
			t.Errorf("%s, one by one: %v, want %v", name, *got, c.want)
		}
		batch, got := sampling(t, c.spec)
		batch.DecideBatch(nows, events, make([]edgeguard.Verdict, len(events)))
		if !slices.Equal(*got, c.want) {
			t.Errorf("%s, in batches: %v, want %v", name, *got, c.want)
		}
	}
}

// Evidence that anybody can forge is not sampled as a key's.
func TestNoSamplesOfForgeableEvidence(t *testing.T) {
	d, got := sampling(t, rules.Spec{Name: "site", Threshold: 100, Guard: "1"})
	nows, events := numbered("203.0.113.9", 200)
	for i := range events {
		events[i].Verified = 0
		d.Decide(nows[i], &events[i])
	}
	if len(*got) > 0 {
		t.Errorf("%v", *got)
	}
}

// BenchmarkSampling is the cost of a decision with and without samples: of addresses
// under every limit, and of one that is blocked.
func BenchmarkSampling(b *testing.B) {
	nows, events := benchEvents()
	made := func(b *testing.B, samples bool) *detector.Detector {
		c := detector.Config{
			Rules:  compile(b, rules.Spec{Name: "site", Threshold: 2000}, rules.Spec{Name: "login", Threshold: 60000}),
			Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}),
		}
		if samples {
			c.Sample = func(time.Time, netip.Prefix, *edgeguard.Event, time.Time) {}
		}
		return detector.New(c)
	}
	for _, samples := range []bool{false, true} {
		name := map[bool]string{false: "without", true: "with"}[samples]
		b.Run("passed/"+name, func(b *testing.B) {
			d := made(b, samples)
			for i := range b.N {
				d.Decide(nows[i%len(nows)], &events[i%len(events)])
			}
		})
		b.Run("batch/"+name, func(b *testing.B) {
			d := made(b, samples)
			verdicts := make([]edgeguard.Verdict, 64)
			for i := range b.N / 64 {
				from := i * 64 % len(events)
				d.DecideBatch(nows[from:from+64], events[from:from+64], verdicts)
			}
		})
		b.Run("blocked/"+name, func(b *testing.B) {
			d := made(b, samples)
			for range 3000 {
				d.Decide(nows[0], &events[0])
			}
			b.ResetTimer()
			for range b.N {
				d.Decide(nows[0], &events[0])
			}
		})
	}
}
