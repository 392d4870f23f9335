package detector_test

import (
	"fmt"
	"math/rand/v2"
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

// answered is a line of a log: the request, and what was answered. It says of its status what
// the pipeline says of it.
func answeredLine(at time.Time, addr, path string, status uint16) edgeguard.Event {
	return edgeguard.Event{
		Time: at, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest | edgeguard.KindResponse,
		Verified: edgeguard.KindRequest | edgeguard.KindResponse, Method: "POST", Path: path, Status: status,
		Known:      edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus,
		TurnedAway: edgeguard.TreatmentOf(status, nil) == edgeguard.TurnedAway,
	}
}

// refusing is a detector whose rule "all" counts each answer of 4xx.
func refusing(t *testing.T, change func(*detector.Config), specs ...rules.Spec) *detector.Detector {
	t.Helper()
	specs = append(specs, rules.Spec{Name: "all", Match: rules.Match{Status: []string{"4xx"}}, Threshold: 1000, Guard: "1", Scope: rules.ScopeNode})
	c := detector.Config{Rules: compile(t, specs...), Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1}
	if change != nil {
		change(&c)
	}
	return detector.New(c)
}

// TestOwnAnswersAreNoEvidence: an answer with which this node has its client turned away is
// counted by no rule of answers, as far as it is known that the node did.
func TestOwnAnswersAreNoEvidence(t *testing.T) {
	block := rules.Spec{Name: "login", Match: rules.Match{Path: []string{"/login"}, Status: []string{"401"}}, Threshold: 2, Guard: "1", BlockFor: time.Hour, Scope: rules.ScopeNode}
	deny := block
	deny.Action, deny.BlockFor = edgeguard.ActionDeny, 0
	rate := rules.Spec{Name: "rate", Threshold: 2, Action: edgeguard.ActionDeny, Scope: rules.ScopeNode}
	monitor := func(c *detector.Config) { c.Monitor = true }
	unasked := func(c *detector.Config) { c.Unasked = true }
	begin := epoch.Truncate(time.Second)
	for name, test := range map[string]struct {
		rule   rules.Spec
		change func(*detector.Config)
		path   string
		status uint16
		at     time.Duration // of the line, after the third failure
		read   time.Duration // so much later
		counts bool
		late   uint64
	}{
		"of a block":                        {rule: block, path: "/", status: 403, at: time.Minute},
		"of a block, read late":             {rule: block, path: "/", status: 429, at: time.Minute, read: 4 * time.Minute},
		"in the second of the block":        {rule: block, path: "/", status: 403},
		"before the block":                  {rule: block, path: "/", status: 403, at: -time.Second, counts: true},
		"the site's, of what was not asked": {rule: block, path: "/", status: 404, at: time.Minute, counts: true},
		"after the block":                   {rule: block, path: "/", status: 403, at: 2 * time.Hour, counts: true},
		"in monitor mode":                   {rule: block, change: monitor, path: "/", status: 403, at: time.Minute, counts: true},
		"of a denial":                       {rule: deny, path: "/login", status: 429, at: time.Minute},
		"of a denial, where no proxy asks":  {rule: deny, change: unasked, path: "/login", status: 429, at: time.Minute, counts: true},
		"of a denial of something else":     {rule: deny, path: "/", status: 429, at: time.Minute, counts: true},
		"of a denial, read late":            {rule: deny, path: "/login", status: 429, at: time.Minute, read: time.Minute, counts: true, late: 1},
		"of a denial that has ended":        {rule: deny, path: "/login", status: 429, at: 10 * time.Minute, counts: true},
		"of a rate":                         {rule: rate, path: "/", status: 429, at: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			d := refusing(t, test.change, test.rule)
			failure := answeredLine(begin, someone, "/login", 401)
			for range 3 {
				d.DecideBatch([]time.Time{begin.Add(300 * time.Millisecond)}, []edgeguard.Event{failure}, make([]edgeguard.Verdict, 1))
			}
			line := answeredLine(begin.Add(test.at), someone, test.path, test.status)
			now := line.Time.Add(test.read + 600*time.Millisecond)
			before, _ := d.Count(now, &line, 1)
			d.DecideBatch([]time.Time{now}, []edgeguard.Event{line}, make([]edgeguard.Verdict, 1))
			after, _ := d.Count(now, &line, 1)
			if got := after > before; got != test.counts {
				t.Errorf("counted: %v, want %v", got, test.counts)
			}
			if got := d.Stats().Unknown; got != test.late {
				t.Errorf("%d are unknown, want %d", got, test.late)
			}
		})
	}
}

// TestReplayOfOwnLog: a node's own log, with what it answered to those whom it refused, and the
// same requests answered by the site alone say the same when they are replayed.
func TestReplayOfOwnLog(t *testing.T) {
	for round := range rounds(30) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 8))
		set := compile(t,
			rules.Spec{Name: "login", Match: rules.Match{Path: []string{"/login"}, Status: []string{"401"}}, Threshold: 5, Guard: "1", BlockFor: time.Minute, Escalate: []time.Duration{5 * time.Minute}, Scope: rules.ScopeNode},
			rules.Spec{Name: "missing", Match: rules.Match{Status: []string{"4xx"}}, Threshold: uint32(8 + r.IntN(20)), Guard: "1", BlockFor: 3 * time.Minute, WhileOver: r.IntN(2) == 0, Scope: rules.ScopeNode},
			rules.Spec{Name: "deny", Match: rules.Match{Path: []string{"/login"}, Status: []string{"4xx"}}, Window: time.Minute, Threshold: 4, Action: edgeguard.ActionDeny, Scope: rules.ScopeNode},
			rules.Spec{Name: "rate", Match: rules.Match{Path: []string{"/rate"}}, Window: time.Minute, Threshold: 6, Action: edgeguard.ActionDeny, Scope: rules.ScopeNode},
		)
		live := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1})
		now := epoch.Truncate(time.Second)
		var site, own []edgeguard.Event
		refused := 0
		for range 1500 {
			now = now.Add(time.Duration(r.IntN(3)) * time.Second)
			addr := fmt.Sprintf("203.0.113.%d", r.IntN(4))
			path, status := [3]string{"/login", "/rate", "/"}[r.IntN(3)], [3]uint16{401, 404, 200}[r.IntN(3)]
			natural := answeredLine(now, addr, path, status)
			asked := natural
			asked.Known &^= edgeguard.FieldStatus
			line := natural
			if live.LookUpVerdict(now, &asked).Action == edgeguard.ActionDeny {
				line = answeredLine(now, addr, path, [2]uint16{403, 429}[r.IntN(2)])
				refused++
			}
			live.DecideBatch([]time.Time{now}, []edgeguard.Event{line}, make([]edgeguard.Verdict, 1))
			site, own = append(site, natural), append(own, line)
		}
		if refused == 0 {
			t.Fatalf("seed %d: nothing was refused", seed)
		}
		want := replayed(set, site, 1)
		for _, size := range []int{1, 64} {
			for name, lines := range map[string][]edgeguard.Event{"own": own, "site": site} {
				if got := replayed(set, lines, size); !slices.Equal(got, want) {
					t.Fatalf("round %d, seed %d, %s in batches of %d:\n%s\nwant\n%s", round, seed, name, size, got, want)
				}
			}
		}
	}
}

// replayed returns the blocks of a replay, in batches of a size.
func replayed(set *rules.Set, lines []edgeguard.Event, size int) (blocks []string) {
	d := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Past: true,
		Crossed: func(c edgeguard.Crossing) {
			if c.Action == edgeguard.ActionBlock {
				blocks = append(blocks, fmt.Sprintln(c.Time.Format(time.TimeOnly), c.Rule, c.Key, c.Until.Format(time.TimeOnly)))
			}
		}})
	for some := range slices.Chunk(lines, size) {
		nows := make([]time.Time, len(some))
		for i := range some {
			nows[i] = some[i].Time
		}
		d.DecideBatch(nows, slices.Clone(some), make([]edgeguard.Verdict, len(some)))
	}
	return blocks
}
