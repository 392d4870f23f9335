package crowdsec

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func block(prefix string, now time.Time, last time.Duration) edgeguard.Block {
	return edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Origin: "n1", Reason: "over limit", Count: 61, Limit: 60, Since: now, Until: now.Add(last)}
}

// What a LAPI is sent, letter for letter.
func TestJSON(t *testing.T) {
	all := []edgeguard.Block{block("192.0.2.1/32", noon.Add(-time.Minute), 10*time.Minute), block("2001:db8::/64", noon.Add(time.Second), time.Hour)}
	all[0].Reason = "text that a client wrote"
	want := `[{"scenario":"edgeguard/site","scenario_hash":"","scenario_version":"","message":"192.0.2.1 is over rule site: 30.5 requests, limit 30","events_count":61,` +
		`"start_at":"2026-11-23T11:59:00Z","stop_at":"2026-11-23T12:00:00Z","capacity":60,"leakspeed":"0s","simulated":false,"remediation":true,"events":[],` +
		`"source":{"scope":"Ip","value":"192.0.2.1","ip":"192.0.2.1"},` +
		`"decisions":[{"origin":"edgeguard","type":"ban","scope":"Ip","value":"192.0.2.1","duration":"9m0s","scenario":"edgeguard/site"}]}`
	got := text(t, all)
	if !strings.HasPrefix(got, want) || !json.Valid([]byte(got)) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, part := range []string{`"start_at":"2026-11-23T12:00:00Z"`, `{"scope":"Range","value":"2001:db8::/64","ip":"2001:db8::","range":"2001:db8::/64"}`, `"duration":"1h0m1s"`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s has no %s", got, part)
		}
	}
	all[0].Rule = edgeguard.ManualRule
	if got := text(t, all[:1]); !strings.Contains(got, "192.0.2.1 was blocked by hand") || strings.Contains(got, "client") {
		t.Error(got)
	}
}

func text(t *testing.T, all []edgeguard.Block) string {
	t.Helper()
	b, err := AlertsJSON(all, noon, func(rule, origin string) words.Measure {
		return words.Measure{Each: 2, One: "request", Many: "requests"}
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A rule that extends a block each second is reported each time that it lasts twice as long.
func TestExtended(t *testing.T) {
	q := NewAlertQueue(10)
	sent := 0
	for second := range 3600 {
		now := noon.Add(time.Duration(second) * time.Second)
		q.Offer(block("192.0.2.1/32", now, 10*time.Minute), now)
		sent += len(q.TakeOldest(10, now))
	}
	if sent != 12 {
		t.Errorf("sent %d times in an hour, of 10 minutes each", sent)
	}
}

// A block that was lifted before it was sent is not sent.
func TestLifted(t *testing.T) {
	q := NewAlertQueue(10)
	b := block("192.0.2.1/32", noon, time.Hour)
	lift := func() {
		lifted := b
		lifted.Lifted = true
		q.Offer(lifted, noon)
	}
	q.Offer(b, noon)
	lift()
	if all := q.TakeOldest(10, noon); len(all) > 0 {
		t.Errorf("%v", all)
	}
	q.Offer(b, noon)
	taken := q.TakeOldest(10, noon)
	lift()
	q.Return(taken)
	if f := q.Figures(); len(taken) != 1 || f.Waiting != 0 {
		t.Errorf("%d taken; lifted while it was sent, it waits again: %+v", len(taken), f)
	}
	q.Offer(b, noon)
	if all := q.TakeOldest(10, noon.Add(time.Hour)); len(all) > 0 {
		t.Errorf("it has ended: %v", all)
	}
}

// A flood is bounded, and counted.
func TestFlood(t *testing.T) {
	q := NewAlertQueue(100)
	for i := range 3 * mostKnown {
		q.Offer(block(fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255), noon, time.Hour), noon)
		if i%100 == 99 && i < 2*mostKnown {
			q.CountAccepted(len(q.TakeOldest(100, noon)))
		}
	}
	f := q.Figures()
	if f != (AlertFigures{Waiting: 100, Sent: 2 * mostKnown, Dropped: mostKnown - 100}) || len(q.order) > 200 || len(q.known) > mostKnown {
		t.Errorf("%+v, %d in order, %d known", f, len(q.order), len(q.known))
	}
}

// What could not be sent and has lost its place is not taken for reported: its next
// extension is.
func TestReturnedIsForgotten(t *testing.T) {
	q := NewAlertQueue(1)
	one := block("192.0.2.1/32", noon, time.Hour)
	q.Offer(one, noon)
	taken := q.TakeOldest(1, noon)
	q.Offer(block("192.0.2.2/32", noon, time.Hour), noon)
	q.Return(taken)
	q.CountAccepted(len(q.TakeOldest(1, noon)))
	one.Until = one.Until.Add(time.Second)
	q.Offer(one, noon)
	if f := q.Figures(); f != (AlertFigures{Waiting: 1, Sent: 1, Dropped: 1}) {
		t.Errorf("%+v", f)
	}
}

// twin is the same queue as a list that is searched.
type twin struct {
	most    int
	waiting []edgeguard.Block
	known   map[netip.Prefix]time.Time
	dropped uint64
}

func (q *twin) at(p netip.Prefix) int {
	return slices.IndexFunc(q.waiting, func(b edgeguard.Block) bool { return b.Prefix == p })
}

func (q *twin) offer(b edgeguard.Block, now time.Time) {
	at := q.at(b.Prefix)
	known, has := q.known[b.Prefix]
	switch {
	case b.Lifted:
		if delete(q.known, b.Prefix); at >= 0 {
			q.waiting = slices.Delete(q.waiting, at, at+1)
		}
		return
	case at >= 0:
		q.waiting[at] = b
	case has && b.Until.Sub(now)/2 < known.Sub(now):
		return
	case len(q.waiting) == q.most:
		q.dropped++
		return
	default:
		q.waiting = append(q.waiting, b)
	}
	q.known[b.Prefix] = b.Until
}

func TestRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	q, slow, now := NewAlertQueue(5), &twin{most: 5, known: map[netip.Prefix]time.Time{}}, noon
	for step := range 50_000 {
		now = now.Add(time.Duration(random.IntN(3)) * time.Second)
		b := block(fmt.Sprintf("192.0.2.%d/32", random.IntN(12)), now, time.Hour)
		b.Until, b.Lifted = b.Until.Add(time.Duration(random.IntN(3))*time.Hour), random.IntN(4) == 0
		q.Offer(b, now)
		slow.offer(b, now)
		if random.IntN(6) > 0 {
			continue
		}
		n := random.IntN(4)
		got, want := q.TakeOldest(n, now), slow.waiting[:min(n, len(slow.waiting))]
		if !slices.Equal(prefixes(got), prefixes(want)) {
			t.Fatalf("step %d: took %v, want %v", step, prefixes(got), prefixes(want))
		}
		slow.waiting = slices.Clone(slow.waiting[len(want):])
	}
	if f := q.Figures(); f.Waiting != len(slow.waiting) || f.Dropped != slow.dropped || f.Dropped == 0 {
		t.Errorf("%+v, want %d waiting and %d dropped", f, len(slow.waiting), slow.dropped)
	}
}

func prefixes(all []edgeguard.Block) (p []netip.Prefix) {
	for _, b := range all {
		p = append(p, b.Prefix)
	}
	return p
}

// BenchmarkOffer is what a decision waits for while an address is blocked.
func BenchmarkOffer(b *testing.B) {
	q := NewAlertQueue(10_000)
	one := block("192.0.2.1/32", noon, time.Hour)
	for i := 0; b.Loop(); i++ {
		one.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
		q.Offer(one, noon)
	}
}
