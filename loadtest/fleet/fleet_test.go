package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
)

// TestASeedGivesOneRun runs all parts twice, a little of each, with all faults.
func TestASeedGivesOneRun(t *testing.T) {
	fulltest.Only(t)
	var texts [2]string
	for i := range texts {
		r, err := Run(t.Context(), Options{Seed: 7, small: true}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		r.Print(&b)
		for line := range strings.Lines(b.String()) {
			if len(line) > 101 {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
		if err := json.NewEncoder(&b).Encode(r); err != nil {
			t.Fatal(err)
		}
		texts[i] = b.String()
	}
	if texts[0] != texts[1] {
		t.Error("two runs of one seed differ")
	}
}

// spreading is a client's traffic on random nodes at random times.
type spreading struct {
	rnd    *rand.Rand
	nodes  int
	window time.Duration
	limit  uint32
}

// requests are so many of each client within 58 slots, in a way that is drawn for each:
// so the slots at the edges, and clocks that are 100 ms off, cannot hide any of it.
func (s spreading) requests(clients int) iter.Seq[traffic.Request] {
	var all []traffic.Request
	most := s.window / edgeguard.Slots * 58
	for c := range clients {
		n := int(s.limit) + 1 + s.rnd.IntN(1+int(s.limit)/2)
		from, times, place := time.Duration(s.rnd.Int64N(int64(s.window))), s.rnd.IntN(4), s.rnd.IntN(5)
		home, some := s.rnd.IntN(s.nodes), 1+s.rnd.IntN(s.nodes)
		for i := range n {
			r := traffic.Request{Client: uint32(c), Cost: 1, At: from + most*time.Duration(i)/time.Duration(n)}
			switch times {
			case 1:
				r.At = from + time.Duration(s.rnd.Int64N(int64(most)))
			case 2: // at both ends
				r.At = from + time.Duration(i%2)*(most-time.Second) + time.Duration(s.rnd.Int64N(int64(time.Second)))
			case 3: // at once
				r.At = from + time.Duration(s.rnd.Int64N(int64(time.Second)))
			}
			switch place {
			case 0:
				r.Node = uint16(s.rnd.IntN(s.nodes))
			case 1:
				r.Node = uint16(home)
			case 2: // as even as it can be: all just below their shares
				r.Node = uint16(i % s.nodes)
			case 3:
				r.Node = uint16((home + i%some) % s.nodes)
			case 4: // a node each for a while
				r.Node = uint16(home + i*some/n)
			}
			r.Node %= uint16(s.nodes)
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b traffic.Request) int { return int(a.At - b.At) })
	return slices.Values(all)
}

// TestNobodyIsMissed spreads clients that are over their threshold over nodes in any
// way. With clocks that are up to 100 ms off, all are blocked everywhere by two pushes
// after their last request, with any guard.
func TestNobodyIsMissed(t *testing.T) {
	fulltest.Only(t)
	runs, first := 60, rand.Uint64()
	if testing.Short() {
		runs = 15
	}
	for i := range uint64(runs) {
		seed := first + i
		rnd := rand.New(rand.NewPCG(seed, 6))
		s := spreading{rnd: rnd, nodes: 1 + rnd.IntN([]int{3, 10, 60}[rnd.IntN(3)]), window: []time.Duration{time.Minute, 5 * time.Minute}[rnd.IntN(2)], limit: uint32(5 + rnd.IntN(200))}
		setup := Setup{
			Seed: seed, Nodes: s.nodes, MaxNodes: s.nodes + rnd.IntN(1+s.nodes), Quiet: rnd.IntN(3) > 0, Skew: 100 * time.Millisecond,
			Guard: guards[rnd.IntN(len(guards))],
			Scenario: traffic.Scenario{Name: "split", Limit: s.limit, Window: s.window, Nodes: s.nodes,
				Requests: func(uint64) iter.Seq[traffic.Request] { return s.requests(6) }},
		}
		r, err := Simulate(t.Context(), setup)
		if err != nil {
			t.Fatal(err)
		}
		if r.Clients != 6 || r.Caught != 6 || len(r.Blocks) != 6*s.nodes {
			t.Fatalf("seed %d: %d of %d clients are caught, %d refusals: %d nodes, limit %d, guard %s, window %s, quiet %t, max_nodes %d",
				seed, r.Caught, r.Clients, len(r.Blocks), s.nodes, s.limit, setup.Guard, s.window, setup.Quiet, setup.MaxNodes)
		}
	}
}

// TestGuardsWorth: a client that has one request more than the threshold within one
// window, evenly, is caught wherever slot and clocks come to less of the window than the
// guard leaves; without a guard most escape, and one that stays at the threshold is let
// alone.
func TestGuardsWorth(t *testing.T) {
	fulltest.Only(t)
	const limit, clients = 400, 20
	run := func(guard rules.Guard, skew, window time.Duration, each int) *Simulated {
		r, err := Simulate(t.Context(), Setup{Seed: 3, Nodes: 8, Quiet: true, Guard: guard, Skew: skew,
			Scenario: traffic.OneWindow(traffic.Evenly, clients, each, limit, window)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, window := range []time.Duration{time.Minute, 5 * time.Minute} {
		for _, guard := range guards {
			for _, skew := range []time.Duration{0, 100 * time.Millisecond, time.Second, 5 * time.Second} {
				r := run(guard, skew, window, limit+1)
				unsure := window/edgeguard.Slots + 2*skew
				pays := unsure <= window*time.Duration(1_000_000-guard)/1_000_000
				if pays && (r.Caught != clients || r.OverAdmitted > 0) {
					t.Errorf("guard %s, clocks %s off, window %s: %d caught, %d passed over the threshold", guard, skew, window, r.Caught, r.OverAdmitted)
				}
				if guard == 1_000_000 && r.Caught > clients/2 {
					t.Errorf("without a guard, clocks %s off, window %s: %d caught", skew, window, r.Caught)
				}
			}
		}
		if r := run(1_000_000, 100*time.Millisecond, window, limit); r.Crossed != 0 || r.FalseBlocks != 0 {
			t.Errorf("without a guard, at the threshold, window %s: %d crossed, %d blocked falsely", window, r.Crossed, r.FalseBlocks)
		}
		if r := run(950_000, 0, window, limit*95/100); r.FalseBlocks != 0 {
			t.Errorf("guard 0.95, at the limit, window %s: %d blocked falsely", window, r.FalseBlocks)
		}
	}
}

// TestDocs holds that the table of docs/scale.md is what the command says.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) s \| (\d+) ms \| (\d+) \| (\d+) \| (\d+) \|$`).FindAllStringSubmatch(string(page), -1)
	if len(rows) < 4 {
		t.Fatalf("docs/scale.md has %d rows about guards", len(rows))
	}
	for _, row := range rows {
		window, _ := time.ParseDuration(row[1] + "s")
		skew, _ := time.ParseDuration(row[2] + "ms")
		for i, guard := range guards {
			r, err := Simulate(t.Context(), Setup{Seed: 1, Scenario: traffic.OneWindow(traffic.Evenly, 20, 408, guardLimit, window),
				Nodes: fleetNodes, Quiet: true, Guard: guard, Skew: skew})
			if err != nil {
				t.Fatal(err)
			}
			if said := row[3+i]; said != strconv.Itoa(r.Caught) {
				t.Errorf("window %s, clocks %s off, guard %s: %d are caught, and docs/scale.md says %s", window, skew, guard, r.Caught, said)
			}
		}
	}
}

// TestExactLog compares the log with one that remembers all.
func TestExactLog(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	const window = time.Second
	for range 20 {
		var log exact
		var all []traffic.Request
		for at := time.Duration(0); len(all) < 500; at += time.Duration(rnd.Int64N(int64(20 * time.Millisecond))) {
			r := traffic.Request{At: at, Cost: uint16(1 + rnd.IntN(3))}
			all = append(all, r)
			want := uint32(0)
			for _, one := range all {
				if at-one.At < window {
					want += uint32(one.Cost)
				}
			}
			if got := log.add(&r, window); got != want {
				t.Fatalf("%d at %s: want %d", got, at, want)
			}
		}
	}
}

// TestJudged: what is said of a client, where it can be counted by hand. The limit is 10 on
// two nodes, a request comes each second.
func TestJudged(t *testing.T) {
	for _, c := range []struct {
		name  string
		guard rules.Guard
		away  bool // each node knows its own counts alone
		each  int
		nodes int // that it reaches
		want  Simulated
	}{
		{"each node lets pass a limit: 20, of which the first 10 are the client's", 1_000_000, true, 40, 2,
			Simulated{Crossed: 1, Caught: 1, OverAdmitted: 10, MostOver: 10, ToBlock: []time.Duration{11 * time.Second}}},
		{"no node ever has a limit", 1_000_000, true, 15, 2, Simulated{Crossed: 1, Missed: 1, OverAdmitted: 5, MostOver: 5}},
		{"it ends as it crosses", 1_000_000, true, 11, 2, Simulated{Crossed: 1, OverAdmitted: 1, MostOver: 1}},
		{"as it crosses, and elsewhere a fan-out later", 1_000_000, false, 12, 1,
			Simulated{Crossed: 1, Caught: 1, ToBlock: []time.Duration{2 * time.Millisecond}}},
		{"below the threshold", 500_000, false, 8, 1, Simulated{FalseBlocks: 1, RefusedEarly: 3}},
		{"before it crosses", 500_000, false, 12, 1, Simulated{Crossed: 1, Caught: 1, Early: 1, RefusedEarly: 5, ToBlock: []time.Duration{0}}},
	} {
		setup := Setup{Seed: 1, Guard: c.guard, Scenario: traffic.Scenario{Name: "two", Limit: 10, Window: time.Minute, Nodes: 2,
			Requests: func(uint64) iter.Seq[traffic.Request] {
				return func(yield func(traffic.Request) bool) {
					for i := range c.each {
						if !yield(traffic.Request{At: time.Duration(i) * time.Second, Cost: 1, Node: uint16(i % c.nodes)}) {
							return
						}
					}
				}
			}}}
		if c.away {
			setup.Away = [2]time.Duration{0, time.Hour}
		}
		r, err := Simulate(t.Context(), setup)
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Load(push); l.Keys != l.Calls || c.away != (l.Calls == 0) || r.Full+r.Reconciled > l.Keys/2 {
			t.Errorf("%s: %+v, %d whole and %d compared: one client is a key in each call", c.name, l, r.Full, r.Reconciled)
		}
		got := Simulated{Crossed: r.Crossed, Caught: r.Caught, Missed: r.Missed, Early: r.Early, FalseBlocks: r.FalseBlocks,
			OverAdmitted: r.OverAdmitted, MostOver: r.MostOver, RefusedEarly: r.RefusedEarly, ToBlock: r.ToBlock}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// TestSkews: two nodes are as far off as clocks may be, and the others no farther.
func TestSkews(t *testing.T) {
	m := simulation{setup: Setup{Skew: time.Second}, rnd: rand.New(rand.NewPCG(1, 1))}
	for i := range 20 {
		got := m.skew(i)
		if i == 0 && got != time.Second || i == 1 && got != -time.Second || got > time.Second || got < -time.Second {
			t.Errorf("node %d is %v off", i, got)
		}
	}
}

// TestExactLogEnds: a request leaves when it is as old as the window.
func TestExactLogEnds(t *testing.T) {
	for later, want := range map[time.Duration]uint32{time.Minute: 1, time.Minute - 1: 2} {
		var log exact
		log.add(&traffic.Request{Cost: 1}, time.Minute)
		if got := log.add(&traffic.Request{At: later, Cost: 1}, time.Minute); got != want {
			t.Errorf("%v later: %d", later, got)
		}
	}
}

// TestWire: bytes are those of the protocol.
func TestWire(t *testing.T) {
	if got, want := frame("FCALL", "0123456789", ""), len("*3\r\n$5\r\nFCALL\r\n$10\r\n0123456789\r\n$0\r\n\r\n"); got != want {
		t.Errorf("a command of %d bytes: want %d", got, want)
	}
	if got, want := answer([]any{"ab", int64(-17), []any{}}), len("*3\r\n$2\r\nab\r\n:-17\r\n*0\r\n"); got != want {
		t.Errorf("an answer of %d bytes: want %d", got, want)
	}
}

func TestEndOf(t *testing.T) {
	rows := func(cores ...float64) (all []Row) {
		for i, core := range cores {
			all = append(all, Row{Nodes: 100 * (i + 1), Core: core})
		}
		return all
	}
	for _, c := range []struct {
		rows   []Row
		want   float64
		beyond bool
	}{
		{rows(10, 60, 100, 300), 250, false},
		{rows(10, 20), 800, true},
	} {
		if got, beyond := endOf(c.rows); got != c.want || beyond != c.beyond {
			t.Errorf("%v: ends at %v, %t", c.rows, got, beyond)
		}
	}
	// Quiet ends between the two: it cannot make a Redis end before it does without.
	stepped := rows(5, 20)
	for i := range stepped {
		stepped[i].Quiet, stepped[i].Clients, stepped[i].Reported = true, 1000, 1+999*i
	}
	if got, beyond := endOf(stepped); got != 800 || !beyond {
		t.Errorf("across the end of quiet: ends at %v, %t", got, beyond)
	}
}

// TestInterrupt: nothing goes on.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Options{Seed: 1}, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	odd := traffic.Scenario{Name: "odd", Limit: 1, Window: 90 * time.Second}
	if _, err := Simulate(t.Context(), Setup{Scenario: odd}); err == nil || !strings.Contains(err.Error(), "odd") {
		t.Errorf("a window of no whole slots: error %v", err)
	}
}

// TestCosts holds that the costs are those of docs/scale.md.
func TestCosts(t *testing.T) {
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, cost := range map[string]float64{
		"call": Measured.Call, "push": Measured.Push, "full": Measured.Full, "offer": Measured.Offer, "split": Measured.Split, "record": Measured.Publish,
		"beat": Measured.Beat, "whole": Measured.Whole, "watch": Measured.Watch, "read": Measured.Read, "idle": Measured.Idle,
	} {
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\| [^|]* \\| ([0-9.,]+) µs \\|").FindStringSubmatch(string(page))
		if row == nil {
			t.Errorf("docs/scale.md has no figure %q in µs", name)
			continue
		}
		if got, err := strconv.ParseFloat(strings.ReplaceAll(row[1], ",", ""), 64); err != nil || got != cost {
			t.Errorf("docs/scale.md says %q is %s µs, and the costs say %v", name, row[1], cost)
		}
	}
}
