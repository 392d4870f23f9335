package detector_test

import (
	"fmt"
	"testing"
	"time"

	"edgeguard/detector"
	"edgeguard/rules"
)

// crew has visitors with a success each 10 s for half an hour, and who else is named. It
// returns when that ends.
func (b *bench) crew(visitors int, others ...string) time.Time {
	works := epoch.Add(30 * time.Minute)
	for at := epoch; at.Before(works); at = at.Add(10 * time.Second) {
		b.few(visitors, at, 200)
		for _, addr := range others {
			b.visit(addr, at, 200)
		}
	}
	return works
}

// few has so many visitors ask at an instant.
func (b *bench) few(visitors int, at time.Time, status uint16) {
	for i := range visitors {
		b.visit(fmt.Sprintf("100.64.%d.7", i), at, status)
	}
}

// waiting returns how many blocks in force wait.
func (b *bench) waiting() (n int) {
	for block := range b.list.Records() {
		if b.Waits(&block) {
			n++
		}
	}
	return n
}

// misses has an address go over the limit of rule missing.
func (b *bench) misses(addr string, at time.Time) {
	for range 5 {
		b.visit(addr, at, 404)
	}
}

// Of the blocks of a minute two travel at once. The others wait for a minute of the
// watch's: then they travel where visitors succeed, and stay where these are gone.
func TestBlocksWait(t *testing.T) {
	for _, broken := range []bool{false, true} {
		b := newBench(t, missing)
		scanners := []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"}
		at := b.crew(10, scanners...)
		for i, addr := range append(scanners, "198.51.100.1") { // who never succeeded
			b.misses(addr, at.Add(time.Duration(i)*time.Second))
		}
		if n := b.waiting(); n != 2 || b.list.Len() != 5 {
			t.Fatalf("%d of %d wait", n, b.list.Len())
		}
		status := uint16(200)
		if broken {
			status = 499 // whoever stays goes away; visitors who fail were blocked before
		}
		travelled := 0
		for i := range 40 {
			at = at.Add(10 * time.Second)
			b.few(10, at, status)
			n := len(b.Travels(at))
			if travelled += n; n > 0 && i != 6 {
				t.Errorf("%d travel at step %d", n, i)
			}
		}
		if want := map[bool]int{false: 2}[broken]; travelled != want || b.Staying() != 2-want {
			t.Errorf("broken: %t, %d travel and %d stay", broken, travelled, b.Staying())
		}
		for i, addr := range scanners { // of which two were sent at once
			if in := b.list.BlockOf(at, host(addr)) != nil; in != (!broken || i > 1) {
				t.Errorf("broken: %t, scanner %d is blocked: %t", broken, i, in)
			}
		}
		if at = at.Add(10 * time.Minute); b.list.Len() > 0 { // all have ended
			b.list.Sweep(at)
		}
		b.few(10, at, status)
		if n := len(b.Travels(at)); n > 0 || b.Staying() > 0 {
			t.Errorf("%d travel after their end, %d stay", n, b.Staying())
		}
	}
}

// Visitors of a broken node who go over a limit one by one are never three in a minute. Two
// are sent nevertheless, and lifted with the first that stays. Where visitors succeed each is
// sent at once, and none is lifted.
func TestOneByOne(t *testing.T) {
	for _, every := range []time.Duration{15 * time.Second, 31 * time.Second, 45 * time.Second} {
		for _, works := range []bool{false, true} {
			who := "100.64.%d.7" // the visitors
			if works {
				who = "203.0.113.%d" // scanners beside them
			}
			var all []string
			for i := range 10 {
				all = append(all, fmt.Sprintf(who, i))
			}
			b := newBench(t, missing)
			at, waited := b.crew(10, all...), 0
			for i := range 14 {
				if i < 10 {
					b.misses(all[i], at)
				}
				waited = max(waited, b.waiting())
				for end := at.Add(every); at.Before(end); at = at.Add(time.Second) {
					if works {
						b.few(10, at, 200)
					} else { // whoever stays goes away: that is no outage
						b.visit("100.64.9.7", at, 499)
					}
					b.Travels(at)
				}
			}
			staying, in := 8, 8
			if works {
				staying, in = 0, 10
			}
			if b.Staying() != staying || b.list.Len() != in || works && every > 30*time.Second && waited > 0 {
				t.Errorf("every %v, works: %t: %d stay of %d, %d waited", every, works, b.Staying(), b.list.Len(), waited)
			}
		}
	}
}

// What an operator does with a block that waits is his: it travels, and what waited is
// forgotten.
func TestOperatorsActOnWhatWaits(t *testing.T) {
	b := newBench(t, missing)
	who := []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"}
	at := b.crew(10, who...)
	for _, addr := range who {
		b.misses(addr, at)
	}
	b.list.Lift(host(who[2]), at, "by hand", "here")
	byHand := *b.list.BlockOf(at, host(who[3]))
	byHand.Rule, byHand.Version = "manual", byHand.Version+1
	if changed, err := b.list.Merge(byHand, at); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if n := b.waiting(); n != 0 {
		t.Errorf("%d wait", n)
	}
	for range 8 {
		at = at.Add(10 * time.Second)
		b.few(10, at, 200)
	}
	if n := len(b.Travels(at)); n != 0 || b.Staying() != 0 {
		t.Errorf("%d travel, %d stay", n, b.Staying())
	}
}

// A reload keeps what waits, also where the watch begins again; after a restart a block of
// this node and of the minute before waits, whoever it is of.
func TestWaitOutlives(t *testing.T) {
	b := newBench(t, missing, rules.Spec{Name: "site", Threshold: 600, BlockFor: time.Hour})
	who := []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"}
	at := b.crew(10, who...)
	for _, addr := range who {
		b.misses(addr, at)
	}
	b.send(601, "203.0.113.9", at)
	for _, own := range []string{"", "example.org"} {
		if own != "" {
			b.config.Own, _ = rules.ParseHosts([]string{own})
		}
		if b.reload(t, b.specs...); b.waiting() != 2 {
			t.Errorf("after a reload %d wait", b.waiting())
		}
	}
	b.config.Previous, b.config.Began = nil, at.Add(30*time.Second)
	old := b.Detector
	b.Detector = detector.New(b.config)
	if n := b.waiting(); n != 4 {
		t.Errorf("after a restart %d wait", n)
	}
	old.Close(nil)
	b.few(10, at.Add(50*time.Second), 200)
	if n := len(b.Travels(at.Add(50 * time.Second))); n != 0 {
		t.Errorf("%d travel at once", n)
	}
	b.few(10, at.Add(time.Minute), 200)
	if n := len(b.Travels(at.Add(time.Minute))); n != 4 || b.waiting() != 0 {
		t.Errorf("%d travel, %d wait", n, b.waiting())
	}
}

// What another node's failing site made is forgotten: what excusing rules counted, and one
// step. The rest stays.
func TestPardon(t *testing.T) {
	escalates := missing
	escalates.Escalate = []time.Duration{time.Hour, 2 * time.Hour}
	b := newBench(t, escalates, rules.Spec{Name: "site", Threshold: 600, BlockFor: time.Hour})
	at := epoch
	b.misses(someone, at)
	at = at.Add(20 * time.Minute)
	b.misses(someone, at)
	b.Pardon(at, "missing", host(someone))
	steps := 0
	for s := range b.Steps() {
		if steps++; s.Blocks != 1 {
			t.Errorf("step %+v", s)
		}
	}
	if steps != 1 {
		t.Errorf("%d steps", steps)
	}
	sec := uint32(at.Unix())
	for _, table := range b.Tables() {
		if want := map[string]uint32{"missing": 0, "site": 5}[b.specs[table.Meter.Rules[0]].Name]; !table.Forgeable && table.Wide == 0 {
			if got := table.Count(host(someone).Addr(), "", sec/table.Meter.Width); got != want {
				t.Errorf("%s counts %d", b.specs[table.Meter.Rules[0]].Name, got)
			}
		}
	}
}
