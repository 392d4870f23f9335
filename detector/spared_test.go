package detector_test

import (
	"fmt"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/shard"
)

// answer is visit at a host.
func (b *bench) answer(host, addr string, at time.Time, status uint16) edgeguard.Verdict {
	ev := request(addr, at)
	ev.Kind |= edgeguard.KindResponse
	ev.Verified, ev.Known, ev.Status, ev.Host = ev.Kind, edgeguard.FieldStatus|edgeguard.FieldHost, status, host
	return b.Decide(at, &ev)
}

// hosts has 40 visitors of each host, of its own networks, ask each 10 s.
func (b *bench) hosts(from, until time.Time, status map[string]uint16) {
	for at := from; at.Before(until); at = at.Add(10 * time.Second) {
		for host, status := range status {
			for i := range 40 {
				b.answer(host, fmt.Sprintf("100.%d.%d.7", len(host), i), at, status)
			}
		}
	}
}

// A lift is of the scope that fails: who crossed by failures elsewhere stays blocked, with
// what was counted of him; and so does who is over the limit without the last two minutes.
func TestLiftIsOfItsScope(t *testing.T) {
	b := newBench(t, missing)
	b.config.Own, _ = rules.ParseHosts([]string{"www.example", "quiet.example"})
	b.reload(t, b.specs...)
	fails := epoch.Add(30 * time.Minute)
	works := map[string]uint16{"www.example": 200, "quiet.example": 200, "foreign.example": 200}
	b.hosts(epoch, fails, works)
	const guesser, slow, foreign = "192.0.2.1", "192.0.2.2", "192.0.2.3"
	for _, addr := range []string{guesser, slow, foreign} {
		b.answer("quiet.example", addr, fails, 200)
	}
	for i := range 5 {
		at := fails.Add(-100*time.Second + time.Duration(i)*20*time.Second)
		b.answer("quiet.example", slow, at.Add(-30*time.Second), 404) // the first one is more than two minutes old when it fails
	}
	for range 5 {
		b.answer("www.example", guesser, fails, 404)
		b.answer("foreign.example", foreign, fails, 404)
	}
	b.hosts(fails, fails.Add(2*time.Minute), map[string]uint16{"www.example": 200, "quiet.example": 404, "foreign.example": 404})
	at := fails.Add(2 * time.Minute)
	if all, _ := b.Outages(); len(all) != 2 {
		t.Errorf("%d scopes, and a foreign host has none", len(all))
	}
	for addr, want := range map[string]bool{guesser: true, slow: false, foreign: true, "100.13.0.7": false, "100.11.0.7": false} {
		if got := b.list.BlockOf(at, host(addr)) != nil; got != want {
			t.Errorf("%s is blocked: %t", addr, got)
		}
	}
}

// Over all outages of a day a client is spared sixty limits of failures, held and taken back
// together; then everything counts.
func TestSparedInADay(t *testing.T) {
	b := newBench(t, missing)
	failed, at := 0, epoch.Add(30*time.Minute)
	b.visits(epoch, at, 200, someone)
	for range 8 { // each an hour, for which there are twelve minutes
		for began, until := at, at.Add(3*time.Minute); at.Before(until); at = at.Add(10 * time.Second) {
			b.visits(at, at.Add(10*time.Second), 500)
			for range 4 {
				if at.Sub(began) < 70*time.Second {
					break // not armed yet
				}
				if v := b.visit(someone, at, 404); v.Action == edgeguard.ActionPass {
					failed++
				}
			}
		}
		b.visits(at, at.Add(time.Hour), 200, someone)
		at = at.Add(time.Hour)
	}
	// 4 a window that ends before the next outage count besides, and the one that crosses.
	if least, most := 60*4, 60*4+8*5; failed < least || failed > most {
		t.Errorf("%d failures passed, want %d to %d", failed, least, most)
	}
}

// What a lift leaves of the count that a step had seen is no new offence: the key climbs no
// further by it.
func TestLiftKeepsWhatItsStepHadCounted(t *testing.T) {
	b := newBench(t, rules.Spec{
		Name: "missing", Threshold: 5, Window: time.Hour, Guard: "1", Match: rules.Match{Status: []string{"404"}},
		BlockFor: time.Minute, Escalate: []time.Duration{10 * time.Minute},
	})
	minute := func(n int) time.Time { return epoch.Add(time.Duration(n) * time.Minute) }
	fail := func(at time.Time, n int) {
		for range n {
			b.visit(someone, at, 404)
		}
	}
	b.visits(epoch, minute(10), 200, someone)
	fail(minute(10), 4)
	b.visits(minute(10), minute(64), 200, someone)
	fail(minute(64), 2)
	if block := b.list.BlockOf(minute(64), host(someone)); block == nil || !block.Until.Equal(minute(65)) {
		t.Fatalf("the first block: %+v", block)
	}
	b.visits(minute(65), minute(72), 200, someone) // the first four leave the window
	fail(minute(72), 4)
	if b.list.BlockOf(minute(72), host(someone)) == nil {
		t.Fatal("no second block")
	}
	b.visits(minute(72), minute(74), 404)
	if lifted := b.told[len(b.told)-1]; !lifted.Lifted {
		t.Fatalf("told %+v", lifted)
	}
	b.visits(minute(74), minute(78), 200, someone)
	fail(minute(78), 4)
	if block := b.list.BlockOf(minute(78), host(someone)); block == nil || !block.Until.Equal(minute(79)) {
		t.Errorf("after the lift: %+v, want it on the first step", block)
	}
}

// A lift takes back what failed in the scope that was armed, and nothing else: what a client
// counted elsewhere in these two minutes stays, also that which other rules count.
func TestLiftLeavesWhatFailedElsewhere(t *testing.T) {
	for _, distinct := range []string{"", "path"} {
		rule := missing
		rule.Distinct, rule.Escalate = distinct, nil
		other := rules.Spec{Name: "other", Threshold: 90, Guard: "1", Match: rules.Match{Status: []string{"4xx"}}, BlockFor: 5 * time.Minute}
		b := newBench(t, rule, other)
		b.config.Own, _ = rules.ParseHosts([]string{"www.example", "quiet.example"})
		b.reload(t, b.specs...)
		fails := epoch.Add(30 * time.Minute)
		b.hosts(epoch, fails, map[string]uint16{"www.example": 200, "quiet.example": 200})
		b.answer("quiet.example", someone, fails, 200)
		for i := range 5 {
			site := "www.example"
			if i >= 3 {
				site = "quiet.example"
			}
			ev := request(someone, fails)
			ev.Kind |= edgeguard.KindResponse
			ev.Verified, ev.Known = ev.Kind, edgeguard.FieldStatus|edgeguard.FieldHost|edgeguard.FieldPath
			ev.Status, ev.Host, ev.Path = 404, site, fmt.Sprint("/", i)
			b.Decide(fails, &ev)
		}
		if b.list.BlockOf(fails, host(someone)) == nil {
			t.Fatal("not blocked")
		}
		at := fails.Add(90 * time.Second)
		b.hosts(fails, at, map[string]uint16{"www.example": 200, "quiet.example": 404})
		if block := b.list.BlockOf(at, host(someone)); block != nil {
			t.Fatalf("not lifted: %+v", block)
		}
		for _, table := range b.Tables() {
			want := map[string]uint32{"missing": 3, "other": 3}[b.specs[table.Meter.Rules[0]].Name]
			if distinct != "" && table.Meter.Distinct != 0 {
				want = 0 // which values are of which scope is not known
			}
			if got := table.Count(host(someone).Addr(), "", uint32(at.Unix())/table.Meter.Width); !table.Forgeable && table.Wide == 0 && got != want {
				t.Errorf("distinct %q: %s counts %d, want %d", distinct, b.specs[table.Meter.Rules[0]].Name, got, want)
			}
		}
	}
}

// What a lift has the other nodes of a fleet forget was spared, too: a client of whom these
// counted more than it may be spared in a day stays blocked.
func TestLiftPaysForTheFleet(t *testing.T) {
	for limits, lifted := range map[uint32]bool{58: true, 60: false} {
		b := newBench(t, missing)
		b.config.Rest = func(_ int, op *shard.Op, _ uint32) uint32 {
			if op.Addr == host(someone).Addr() {
				return 4 * limits
			}
			return 0
		}
		b.config.Fleet = func(int, *shard.Op, uint32) uint32 { return 0 }
		b.reload(t, b.specs...)
		fails := epoch.Add(30 * time.Minute)
		b.visits(epoch, fails, 200, someone)
		b.misses(someone, fails)
		at := fails.Add(90 * time.Second)
		b.visits(fails, at, 404)
		if got := b.list.BlockOf(at, host(someone)) == nil; got != lifted {
			t.Errorf("%d limits elsewhere: lifted %t", limits, got)
		}
	}
}
