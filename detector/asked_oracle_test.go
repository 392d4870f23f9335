package detector_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// ask returns what the detector must say of a request without an answer, of the rules alone:
// a request meets a rule's terms if with some status it would count. answers leaves out the
// rules that count requests.
func (o *oracle) ask(now time.Time, ev *edgeguard.Event, answers bool) (action edgeguard.Action, rule string, wait time.Duration) {
	for i := range o.set.Rules {
		r := &o.set.Rules[i]
		m := &o.set.Meters[r.Meter]
		counts := o.counts(m, ev)
		if r.Name == "unasked" || m.Everybody || !counts || answers && !m.CountsAnswers() {
			continue
		}
		with, ok := m.AppendAttributes(ev, nil)
		if !ok {
			continue
		}
		refuse := func(does edgeguard.Action, prefix netip.Prefix, limit uint32, rest uint32) {
			slot := uint32(now.Unix()) / m.Width
			k := logKey{r.Meter, edgeguard.Key{Prefix: prefix, With: string(with)}, true, false}
			if o.window(k, slot, 0, 0)+rest <= limit || does == edgeguard.ActionPass {
				return
			}
			if does > action {
				action, rule = does, r.Name
			}
			if does == edgeguard.ActionDeny {
				end := slot
				for o.window(k, end, 0, 0) > limit-min(limit, rest) {
					end++
				}
				wait = max(wait, time.Unix(int64(end)*int64(m.Width), 0).Sub(now))
			}
		}
		key := m.Key(ev.Addr, string(with)).Prefix
		if r.Action == edgeguard.ActionDeny {
			rest := uint32(0)
			if o.rest != nil && r.Scope == rules.ScopeFleet {
				rest = o.rest(r.Meter, m.Key(ev.Addr, string(with)), uint32(now.Unix())/m.Width)
			}
			if o.lost && r.OnFleetLoss == rules.LossClosed && action < edgeguard.ActionDeny {
				action, rule = edgeguard.ActionDeny, r.Name
			}
			refuse(o.action(r), key, r.Limit, rest)
		}
		for _, bits := range []int{56, 48} {
			if !ev.Addr.Is6() || bits >= int(m.V6) || r.Action == edgeguard.ActionShadow || r.Wide == rules.WideOff ||
				m.Distinct != 0 && o.wideLimit(r, bits) > rules.MaxDistinct {
				continue
			}
			does := min(r.Action, edgeguard.ActionDeny)
			if r.Wide == rules.WideReport || bits == 56 && r.Action == edgeguard.ActionBlock || bits == 48 && r.Name[0] != 'p' {
				does = edgeguard.ActionPass
			}
			if does != edgeguard.ActionPass {
				does = min(does, o.action(r))
			}
			network, _ := ev.Addr.Prefix(bits)
			refuse(does, network, o.wideLimit(r, bits), 0)
		}
	}
	return action, rule, wait
}

// counts reports whether the event would count with some status.
func (o *oracle) counts(m *rules.Meter, ev *edgeguard.Event) bool {
	for _, status := range []uint16{200, 302, 401, 404, 503} {
		answered := *ev
		answered.Kind, answered.Known, answered.Status = m.Kind, ev.Known|edgeguard.FieldStatus, status
		if _, ok := m.Match(&answered); ok {
			return true
		}
	}
	return false
}

// askedRules are rules that deny, among others; of "part" a path is named, of the others none.
func askedRules(t *testing.T) *rules.Set {
	path, failed := []string{"/login*"}, []string{"401", "404"}
	return compile(t,
		rules.Spec{Name: "blocks", Match: rules.Match{Status: []string{"503"}}, Threshold: 9, BlockFor: 5 * time.Second},
		rules.Spec{Name: "dear", Match: rules.Match{Kind: []string{"response"}, Path: path}, Costs: []rules.Charge{{Match: rules.Match{Status: failed}, Cost: 7}}, Threshold: 60, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "all", Match: rules.Match{Status: failed}, Threshold: 12, Action: edgeguard.ActionDeny, Window: time.Minute},
		rules.Spec{Name: "part", Match: rules.Match{Status: failed, Path: path}, Threshold: 5, Action: edgeguard.ActionDeny, OnFleetLoss: rules.LossOpen},
		rules.Spec{Name: "part-same", Match: rules.Match{Status: failed, Path: path}, Threshold: 9, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "part-block", Match: rules.Match{Status: failed, Path: path, Method: []string{"POST"}}, Threshold: 2, BlockFor: time.Second, Window: 2 * time.Minute, Wide: rules.WideStrict},
		rules.Spec{Name: "not", Match: rules.Match{Not: &rules.Match{Status: []string{"2xx", "3xx", "5xx"}, Path: path}}, Threshold: 8, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "with", Match: rules.Match{Status: failed}, Key: rules.Group{With: []string{"host"}}, Threshold: 10, Action: edgeguard.ActionDeny, Window: 3 * time.Minute, Wide: rules.WideOff},
		rules.Spec{Name: "net", Match: rules.Match{Status: failed}, Key: rules.Group{V4: 24, V6: 48}, Threshold: 40, Action: edgeguard.ActionDeny, OnFleetLoss: rules.LossClosed},
		rules.Spec{Name: "paths", Match: rules.Match{Status: failed}, Distinct: "path", Threshold: 3, Action: edgeguard.ActionDeny, Window: time.Minute},
		rules.Spec{Name: "unasked", When: "status == 401", Threshold: 4, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "when", Match: rules.Match{Status: failed}, When: `path endsWith ".css"`, Threshold: 3, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "shadow", Match: rules.Match{Status: failed}, Threshold: 4, Action: edgeguard.ActionShadow},
		rules.Spec{Name: "part-requests", Match: rules.Match{Kind: []string{"request"}, Path: path}, Threshold: 30, Action: edgeguard.ActionDeny},
	)
}

// TestAskedOracle asks about random requests between answers, by both ways, and holds the
// verdicts against the slow twin: alone, and in a fleet that is lost and found. What is
// counted of the answers stays as it was.
func TestAskedOracle(t *testing.T) {
	refused := map[string]int{}
	for round := range rounds(8) {
		seed := rand.Uint64()
		about := fmt.Sprintf("round %d, seed %d", round, seed)
		r := rand.New(rand.NewPCG(seed, 4))
		set := askedRules(t)
		c := detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{})}
		slow := newOracle(set, nil)
		if round%2 == 1 {
			slow.rest = func(meter int, _ edgeguard.Key, slot uint32) uint32 {
				return uint32((seed ^ uint64(meter)<<32 ^ uint64(slot)) * 0x9e3779b97f4a7c15 >> 61)
			}
			c.Fleet = func(meter int, op *shard.Op, _ uint32) uint32 {
				return slow.rest(meter, set.Meters[meter].Key(op.Addr, op.With), op.Now)
			}
			c.Rest = c.Fleet
		}
		var tables []detector.Table
		if c.Fleet != nil {
			c.Until = func(meter int, op *shard.Op, limit uint32) (least, most uint32) {
				return 0, untilOf(tables, meter, op, limit, c.Rest(meter, op, 0))
			}
		}
		d := detector.New(c)
		tables = d.Tables()
		nows, events := askedEvents(r, 1800)
		for i := range events {
			ev, at := events[i], nows[i]
			if r.IntN(50) == 0 && slow.rest != nil {
				slow.lost = !slow.lost
				d.SetFleetLost(slow.lost)
			}
			ev.Known &^= edgeguard.FieldStatus
			ev.Kind, ev.Verified, ev.Status, ev.Time = 0, 0, 0, at
			action, rule, wait := slow.ask(at, &ev, false)
			before := d.Stats()
			if b := slow.blockOf(at, ev.Addr); b != nil {
				action, rule = edgeguard.ActionDeny, b.rule
			}
			got := d.LookUpVerdict(at, &ev)
			if got.Action != action || got.Rule != rule || got.Reason == "over limit" && got.RetryAfter != wait {
				t.Fatalf("%s, question %d: %+v, the oracle says %v by %q for %v", about, i, got, action, rule, wait)
			}
			if d.Stats() != before {
				t.Fatalf("%s, question %d: counted", about, i)
			}
			refused[got.Rule]++
			if r.IntN(3) == 0 { // as a question that is counted besides
				ev.Kind, ev.Verified = edgeguard.KindRequest, edgeguard.KindRequest
				action, rule, _ := slow.ask(at, &ev, true)
				counted, by, _ := slow.decide(at, &ev)
				switch {
				case slow.blockOf(at, ev.Addr) != nil:
					action, rule = counted, by
				case counted > action, counted == action && counted > 0 && comesBefore(set, by, rule):
					action, rule = counted, by
				}
				if got := d.Decide(at, &ev); got.Action != action || got.Rule != rule {
					t.Fatalf("%s, request %d: %+v, the oracle says %v by %q", about, i, got, action, rule)
				}
			}
			answer := events[i]
			action, rule, _ = slow.decide(at, &answer)
			if got := d.Decide(at, &answer); got.Action != action || got.Rule != rule {
				t.Fatalf("%s, answer %d: %+v, the oracle says %v by %q", about, i, got, action, rule)
			}
		}
		d.Close(nil)
	}
	if delete(refused, ""); len(refused) < 5 {
		t.Errorf("few rules refused anything: %v", refused)
	}
}

// untilOf is after how many slots a key's count here is at most at a limit, with a rest that
// stays.
func untilOf(tables []detector.Table, meter int, op *shard.Op, limit, rest uint32) uint32 {
	return tables[2*meter].Until(op.Addr, op.With, op.Now, limit-min(limit, rest))
}

// comesBefore reports whether a rule comes before another.
func comesBefore(set *rules.Set, rule, other string) bool {
	for i := range set.Rules {
		switch set.Rules[i].Name {
		case rule:
			return rule != other
		case other:
			return false
		}
	}
	return false
}

// askedEvents are answers of a few addresses, with a status.
func askedEvents(r *rand.Rand, n int) ([]time.Time, []edgeguard.Event) {
	nows, events := randomEvents(r, n)
	const both = edgeguard.KindRequest | edgeguard.KindResponse
	dense := time.Duration(1 + r.IntN(12)) // or few windows see a higher limit passed
	for i := range events {
		ev := &events[i]
		nows[i], ev.Time = epoch.Add(nows[i].Sub(epoch)/dense), epoch.Add(ev.Time.Sub(epoch)/dense)
		if ev.Kind = both; ev.Verified != 0 {
			ev.Verified = both
		}
		if ev.Addr.Is6() {
			ev.Addr = netip.MustParseAddr(site64(uint16(r.IntN(2)), r.IntN(3)<<8+r.IntN(20)))
		}
		ev.Known |= edgeguard.FieldStatus
		ev.Status = []uint16{200, 302, 401, 404, 503}[r.IntN(5)]
		if r.IntN(3) == 0 {
			ev.Path = fmt.Sprintf("/login/%d", r.IntN(30))
		}
	}
	return nows, events
}

// TestPastOracle: of recorded answers those are refused whose requests would have been, had
// they been asked about before; one by one and in batches.
func TestPastOracle(t *testing.T) {
	for round := range rounds(6) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 5))
		set := askedRules(t)
		config := func(past bool) detector.Config {
			return detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}), Past: past}
		}
		live, one, many := detector.New(config(false)), detector.New(config(true)), detector.New(config(true))
		nows, events := askedEvents(r, 1500)
		verdicts := make([]edgeguard.Verdict, len(events))
		refused := 0
		for from := 0; from < len(events); {
			to := min(len(events), from+1+r.IntN(150))
			many.DecideBatch(nows[from:to], events[from:to], verdicts[from:to])
			for i := from; i < to; i++ {
				v := one.Decide(nows[i], &events[i])
				if verdicts[i].Action != v.Action || verdicts[i].Rule != v.Rule || verdicts[i].Count != v.Count {
					t.Fatalf("round %d, seed %d, event %d: the batch says %+v, one by one %+v", round, seed, i, verdicts[i], v)
				}
				question := events[i]
				question.Kind, question.Known, question.Time = 0, question.Known&^edgeguard.FieldStatus, nows[i]
				asked := live.LookUpVerdict(nows[i], &question)
				answer := events[i]
				if asked.Action == edgeguard.ActionDeny && (asked.Reason == "blocked" || asked.Rule != "part-block" || v.Action == edgeguard.ActionDeny && v.Rule != "part-block") {
					answer.Kind, answer.Verified = answer.Kind&edgeguard.KindRequest, answer.Verified&edgeguard.KindRequest // it never came
					answer.Known &^= edgeguard.FieldStatus
				}
				answered := live.Decide(nows[i], &answer)
				want := answered.Reason == "blocked" || answered.Action == edgeguard.ActionDeny && byItself(answered.Rule) ||
					asked.Action == edgeguard.ActionDeny && !byItself(asked.Rule)
				// Of several rules that refuse a question the first is named: behind one that
				// refuses by itself may be another.
				hidden := asked.Action == edgeguard.ActionDeny && byItself(asked.Rule)
				hidden = hidden || answered.Action == edgeguard.ActionDeny && byItself(v.Rule)
				if (v.Action == edgeguard.ActionDeny) != want && !(hidden && v.Action == edgeguard.ActionDeny) {
					t.Fatalf("round %d, seed %d, event %d: replayed %+v; live %+v, and the answer %+v", round, seed, i, v, asked, answered)
				}
				if v.Action == edgeguard.ActionDeny {
					refused++
				}
			}
			from = to
		}
		if refused == 0 {
			t.Error("nothing was refused")
		}
	}
}

// byItself reports whether a rule refuses a recorded event for what that counts: one of
// requests, or one that denies networks alone.
func byItself(rule string) bool { return rule == "part-requests" || rule == "part-block" }
