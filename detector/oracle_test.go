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

// oracle decides as the detector must, in the slowest way that is plainly
// right: it keeps every event and counts by looking at all of them.
type oracle struct {
	set    *rules.Set
	allow  []netip.Prefix
	logs   map[logKey][]logged
	seq    int // of the event in hand
	blocks map[netip.Prefix]*standing
	steps  map[stepKey]*step
	told   []edgeguard.Crossing
	// crossed are the crossings of networks, until which second each is the same.
	crossed map[stepKey]int64
	// rest is what the rest of the fleet counted of a key, nil without a fleet,
	// and lost says that it cannot be reached.
	rest func(meter int, key edgeguard.Key, slot uint32) uint32
	lost bool
}

type logKey struct {
	meter  int
	key    edgeguard.Key
	proven bool
}

type logged struct {
	slot, cost uint32
	seq        int
}

// standing is a block, and step how often a rule blocked a prefix.
type standing struct {
	prefix       netip.Prefix
	rule         string
	since, until time.Time
}

// wideKey is a size of network around the keys of a meter.
type wideKey struct{ meter, bits int }

type stepKey struct {
	rule   string
	prefix netip.Prefix
}

type step struct {
	blocks, seq  int
	since, until time.Time
}

func newOracle(set *rules.Set, allow []netip.Prefix) *oracle {
	return &oracle{set: set, allow: allow, logs: make(map[logKey][]logged), blocks: make(map[netip.Prefix]*standing), steps: make(map[stepKey]*step), crossed: make(map[stepKey]int64)}
}

// seen is what an event made of a meter's count.
type seen struct {
	own, before uint32
	cost        uint32
	counted     bool
}

// decide gives the action and the rule that the verdict must have, and when the
// client may come again if it is blocked.
func (o *oracle) decide(now time.Time, ev *edgeguard.Event) (edgeguard.Action, string, time.Duration) {
	o.seq++
	for _, p := range o.allow {
		if p.Contains(ev.Addr) {
			return edgeguard.ActionPass, "", 0
		}
	}
	counts := make([]seen, len(o.set.Meters))
	for i := range o.set.Meters {
		counts[i] = o.count(i, &o.set.Meters[i], now, ev)
	}
	wide := make(map[wideKey]seen)
	for i := range counts {
		if counts[i].counted && ev.Verified&o.set.Meters[i].Kind != 0 {
			o.countWide(now, i, &o.set.Meters[i], ev, counts[i].own, wide)
		}
	}
	action, rule, made := edgeguard.ActionPass, "", false
	for i := range o.set.Rules {
		r := &o.set.Rules[i]
		m, n := &o.set.Meters[r.Meter], counts[r.Meter]
		if !n.counted {
			continue
		}
		if o.lost && r.OnFleetLoss == rules.LossClosed && ev.Verified&m.Kind != 0 && action < edgeguard.ActionDeny {
			action, rule = edgeguard.ActionDeny, r.Name
		}
		if r.Scope == rules.ScopeFleet && o.rest != nil && ev.Verified&m.Kind != 0 {
			with, _ := m.With(ev, nil)
			rest := o.rest(r.Meter, m.Key(ev.Addr, string(with)), uint32(now.Unix())/m.Width)
			n.own, n.before = n.own+rest, n.before+rest
		}
		crossed := n.before <= r.Limit
		does := o.action(r)
		switch {
		case n.own <= r.Limit:
		case ev.Verified&m.Kind == 0:
			if crossed {
				o.tell(now, r, ev, edgeguard.ActionAlarm, "", time.Time{})
			}
		case does == edgeguard.ActionBlock:
			made = o.over(now, r, ev, crossed, made) || made
		default:
			if crossed {
				o.tell(now, r, ev, does, "", time.Time{})
			}
			if does > action {
				action, rule = does, r.Name
			}
		}
		for _, bits := range []int{56, 48} {
			n, counted := wide[wideKey{r.Meter, bits}]
			if !counted || r.Wide == rules.WideOff || n.own <= o.wideLimit(r, bits) {
				continue
			}
			prefix, _ := ev.Addr.Prefix(bits)
			crossed := n.before <= o.wideLimit(r, bits)
			switch does := o.wideAction(r, bits); {
			case does == edgeguard.ActionBlock:
				made = o.overPrefix(now, r, ev, prefix, crossed, made) || made
			default:
				if crossed && o.first(now, r, ev, prefix) {
					o.tellOf(now, r, ev, prefix, does, "", time.Time{})
				}
				if does > max(action, edgeguard.ActionAlarm) {
					action, rule = does, r.Name
				}
			}
		}
	}
	if b := o.blockOf(now, ev.Addr); b != nil {
		return edgeguard.ActionDeny, b.rule, o.wait(now, ev, b)
	}
	return action, rule, 0
}

func (o *oracle) tell(now time.Time, r *rules.Rule, ev *edgeguard.Event, action edgeguard.Action, stands string, until time.Time) {
	o.tellOf(now, r, ev, o.set.Meters[r.Meter].Key(ev.Addr, "").Prefix, action, stands, until)
}

func (o *oracle) tellOf(now time.Time, r *rules.Rule, ev *edgeguard.Event, prefix netip.Prefix, action edgeguard.Action, stands string, until time.Time) {
	with, _ := o.set.Meters[r.Meter].With(ev, nil)
	o.told = append(o.told, edgeguard.Crossing{Time: now, Rule: r.Name, Key: edgeguard.Key{Prefix: prefix, With: string(with)}, Action: action, Stands: stands, Until: until})
}

// first reports whether a network's crossing was not seen in the window before.
func (o *oracle) first(now time.Time, r *rules.Rule, ev *edgeguard.Event, prefix netip.Prefix) bool {
	m := &o.set.Meters[r.Meter]
	if prefix == m.Key(ev.Addr, "").Prefix {
		return true
	}
	with, _ := m.With(ev, nil)
	key := stepKey{r.Name + " " + string(with), prefix}
	until, known := o.crossed[key]
	o.crossed[key] = now.Unix() + int64(m.Window/time.Second)
	return !known || now.Unix() >= until
}

// limit is that of a key, or of a network around keys.
func (o *oracle) limit(r *rules.Rule, prefix netip.Prefix) uint32 {
	if m := &o.set.Meters[r.Meter]; prefix.Addr().Is6() && prefix.Bits() < int(m.V6) {
		return o.wideLimit(r, prefix.Bits())
	}
	return r.Limit
}

// over is what a rule that blocks does about a count over its limit. It reports
// whether it blocked.
func (o *oracle) over(now time.Time, r *rules.Rule, ev *edgeguard.Event, crossed, made bool) bool {
	return o.overPrefix(now, r, ev, o.set.Meters[r.Meter].Key(ev.Addr, "").Prefix, crossed, made)
}

func (o *oracle) overPrefix(now time.Time, r *rules.Rule, ev *edgeguard.Event, prefix netip.Prefix, crossed, made bool) bool {
	news := crossed && o.first(now, r, ev, prefix)
	if b := o.blocks[prefix]; r.WhileOver && b != nil && b.rule == r.Name && now.Before(b.until) {
		if falls := o.falls(now, r, prefix, o.limit(r, prefix)); falls.After(b.until) {
			b.until = falls
			o.steps[stepKey{r.Name, prefix}].until = falls
		}
	}
	if o.blockOf(now, ev.Addr) != nil {
		if !crossed && !made {
			return false
		}
		if by := o.strongest(now, r, prefix); by != nil {
			if news {
				o.tellOf(now, r, ev, prefix, edgeguard.ActionDeny, by.rule, by.until)
			}
			return false
		}
	}
	o.tellOf(now, r, ev, prefix, edgeguard.ActionBlock, "", o.block(now, r, prefix))
	return true
}

// strongest gives the longest prefix's of the blocks that hold prefix and are as
// strong as r's would be.
func (o *oracle) strongest(now time.Time, r *rules.Rule, prefix netip.Prefix) *standing {
	for bits := prefix.Bits(); bits >= 0; bits-- {
		b := o.blocks[netip.PrefixFrom(prefix.Addr(), bits).Masked()]
		if b == nil || !now.Before(b.until) {
			continue
		}
		length := r.Blocked(o.next(now, r, prefix) - 1)
		if b.rule == r.Name || b.rule == edgeguard.ManualRule && bits == prefix.Bits() || o.nominal(b) >= length {
			return b
		}
	}
	return nil
}

func (o *oracle) nominal(b *standing) time.Duration {
	length := b.until.Sub(b.since)
	for i := range o.set.Rules {
		if r := &o.set.Rules[i]; r.Name == b.rule && r.WhileOver {
			longest := r.BlockFor
			for _, e := range r.Escalate {
				if e <= length {
					longest = e
				}
			}
			return longest
		}
	}
	return length
}

// falls is when the own count of a key is at most n.
func (o *oracle) falls(now time.Time, r *rules.Rule, prefix netip.Prefix, n uint32) time.Time {
	m := &o.set.Meters[r.Meter]
	slot := uint32(now.Unix()) / m.Width
	for o.window(logKey{r.Meter, edgeguard.Key{Prefix: prefix}, true}, slot, 0, 0) > n {
		slot++
	}
	return time.Unix(int64(slot)*int64(m.Width), 0).UTC()
}

func (o *oracle) wait(now time.Time, ev *edgeguard.Event, b *standing) time.Duration {
	end := b.until.Sub(now)
	for i := range o.set.Rules {
		r := &o.set.Rules[i]
		m := &o.set.Meters[r.Meter]
		wide := b.prefix.Addr().Is6() && b.prefix.Bits() < int(m.V6)
		if r.Name != b.rule || r.Action != edgeguard.ActionBlock || !wide && m.Key(ev.Addr, "").Prefix != b.prefix {
			continue
		}
		cost := uint32(1)
		if c, ok := m.Match(ev); ok {
			cost = uint32(c)
		}
		if wide {
			cost = min(cost, o.share(r.Meter))
		}
		return max(end, o.falls(now, r, b.prefix, o.limit(r, b.prefix)-min(o.limit(r, b.prefix), cost)).Sub(now))
	}
	return end
}

// action is what r does about a count over its limit.
func (o *oracle) action(r *rules.Rule) edgeguard.Action {
	if o.lost && r.OnFleetLoss == rules.LossOpen {
		return edgeguard.ActionShadow
	}
	return r.Action
}

// block makes a block.
func (o *oracle) block(now time.Time, r *rules.Rule, prefix netip.Prefix) time.Time {
	key := stepKey{r.Name, prefix}
	s := &step{blocks: o.next(now, r, prefix), seq: o.seq, since: now}
	s.until = now.Add(r.Blocked(s.blocks - 1))
	if falls := o.falls(now, r, prefix, o.limit(r, prefix)); r.WhileOver && falls.After(s.until) {
		s.until = falls
	}
	o.steps[key] = s
	o.blocks[prefix] = &standing{prefix, r.Name, now, s.until}
	return s.until
}

// next is on which step a block of the key would be: one further if the last is over
// and what was counted since that began is over the limit by itself.
func (o *oracle) next(now time.Time, r *rules.Rule, prefix netip.Prefix) int {
	blocks := o.before(r.Name, prefix, now)
	if blocks == 0 {
		return 1
	}
	m, last := &o.set.Meters[r.Meter], o.steps[stepKey{r.Name, prefix}]
	slot, from := uint32(now.Unix())/m.Width, uint32(last.since.Unix())/m.Width
	if !now.Before(last.until) && (slot-from >= 60 || o.window(logKey{r.Meter, edgeguard.Key{Prefix: prefix}, true}, slot, from, last.seq) > o.limit(r, prefix)) {
		blocks++
	}
	return blocks
}

// before is on which step a key stands.
func (o *oracle) before(rule string, prefix netip.Prefix, now time.Time) int {
	if s := o.steps[stepKey{rule, prefix}]; s != nil && now.Before(s.until.Add(24*time.Hour)) {
		return s.blocks
	}
	return 0
}

// blockOf gives the longest live block around addr.
func (o *oracle) blockOf(now time.Time, addr netip.Addr) (best *standing) {
	for _, b := range o.blocks {
		if b.prefix.Contains(addr) && now.Before(b.until) && (best == nil || b.prefix.Bits() > best.prefix.Bits()) {
			best = b
		}
	}
	return best
}

// fleetCount takes in a total of the fleet.
func (o *oracle) fleetCount(now time.Time, meter int, prefix netip.Prefix, count uint32) {
	for _, p := range o.allow {
		if p.Bits() <= prefix.Bits() && p.Contains(prefix.Addr()) {
			return
		}
	}
	for _, k := range o.set.Meters[meter].Rules {
		r := &o.set.Rules[k]
		if r.Scope == rules.ScopeFleet && count > r.Limit && o.action(r) == edgeguard.ActionBlock && o.strongest(now, r, prefix) == nil {
			o.block(now, r, prefix)
		}
	}
}

// count logs the event and adds up what the log holds of the window.
func (o *oracle) count(i int, m *rules.Meter, now time.Time, ev *edgeguard.Event) (n seen) {
	cost, ok := m.Match(ev)
	if !ok {
		return n
	}
	with, ok := m.With(ev, nil)
	if !ok {
		return n
	}
	nowSlot := uint32(now.Unix()) / m.Width
	slot := min(uint32(ev.Time.Unix())/m.Width, nowSlot)
	if slot+60 <= nowSlot {
		return n
	}
	k := logKey{i, m.Key(ev.Addr, string(with)), ev.Verified&m.Kind != 0}
	n = seen{before: o.window(k, nowSlot, 0, 0), cost: uint32(cost), counted: true}
	o.logs[k] = append(o.logs[k], logged{slot, uint32(cost), o.seq})
	n.own = o.window(k, nowSlot, 0, 0)
	return n
}

// window adds up the slots of the window that ends with the slot now, from a slot
// on, and of events after one.
func (o *oracle) window(k logKey, now, from uint32, after int) (sum uint32) {
	var slots [60]uint32
	for _, e := range o.logs[k] {
		if e.slot+60 > now && e.slot <= now && e.slot >= from && e.seq > after {
			slots[e.slot%60] = min(slots[e.slot%60]+e.cost, 65535)
		}
	}
	for _, n := range slots {
		sum += n
	}
	return sum
}

// TestOracle holds Decide and DecideBatch against the slow twin.
func TestOracle(t *testing.T) {
	for round := range 20 {
		holdAgainstOracle(t, mixed(t), rand.Uint64(), round, nil)
	}
}

// holdAgainstOracle decides random events one by one, in batches and by the
// oracle. Where there is a fleet, its totals come in between, and it is lost
// and found.
func holdAgainstOracle(t *testing.T, set *rules.Set, seed uint64, round int, rest func(meter int, key edgeguard.Key, slot uint32) uint32) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	nows, events := randomEvents(r, 3000)
	holdEvents(t, set, r, nows, events, fmt.Sprintf("round %d, seed %d", round, seed), rest)
}

// holdEvents is holdAgainstOracle for these events.
func holdEvents(t *testing.T, set *rules.Set, r *rand.Rand, nows []time.Time, events []edgeguard.Event, about string, rest func(meter int, key edgeguard.Key, slot uint32) uint32) {
	t.Helper()
	allow := []netip.Prefix{netip.MustParsePrefix("192.0.1.5/32"), netip.MustParsePrefix("2001:db8:1:105::/64")}
	config := func(told *[]edgeguard.Crossing) detector.Config {
		c := detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{Allow: allow})}
		c.Crossed = func(c edgeguard.Crossing) { *told = append(*told, c) }
		if rest != nil {
			c.Fleet = func(meter int, op *shard.Op, _ uint32) uint32 {
				return rest(meter, set.Meters[meter].Key(op.Addr, op.With), op.Now)
			}
		}
		return c
	}
	var toldOne, toldMany []edgeguard.Crossing
	one, many, slow := detector.New(config(&toldOne)), detector.New(config(&toldMany)), newOracle(set, allow)
	slow.rest = rest
	verdicts := make([]edgeguard.Verdict, len(events))
	for from := 0; from < len(events); {
		to := min(len(events), from+1+r.IntN(200))
		many.DecideBatch(nows[from:to], events[from:to], verdicts[from:to])
		for i := from; i < to; i++ {
			v := one.Decide(nows[i], &events[i])
			action, rule, wait := slow.decide(nows[i], &events[i])
			if v.Action != action || v.Rule != rule || v.Reason == "blocked" && v.RetryAfter != wait {
				t.Fatalf("%s, event %d: got %v by %q for %v, the oracle says %v by %q for %v",
					about, i, v.Action, v.Rule, v.RetryAfter, action, rule, wait)
			}
			if b := slow.blockOf(nows[i], events[i].Addr); v.Reason == "blocked" {
				v.RetryAfter = b.until.Sub(nows[i])
			} else {
				v.RetryAfter = 0
			}
			if verdicts[i] != v {
				t.Fatalf("%s, event %d: the batch says %+v, one by one %+v", about, i, verdicts[i], v)
			}
		}
		if rest != nil {
			hearFleet(r, set, nows[to-1], events[r.IntN(to)].Addr, one, many, slow)
		}
		from = to
	}
	if !slices.Equal(toldOne, toldMany) {
		t.Errorf("%s: %d crossings, in batches %d or others", about, len(toldOne), len(toldMany))
	}
	if rest == nil {
		compareTold(t, about, toldOne, slow.told)
	}
	if one.Stats() != many.Stats() {
		t.Errorf("%s: stats differ: %+v, in batches %+v", about, one.Stats(), many.Stats())
	}
}

// hearFleet tells all three the same news of the fleet.
func hearFleet(r *rand.Rand, set *rules.Set, now time.Time, addr netip.Addr, one, many *detector.Detector, slow *oracle) {
	meter, count, lost := r.IntN(len(set.Meters)), r.Uint32N(100), r.IntN(4) == 0
	m := &set.Meters[meter]
	prefix, with := m.Key(addr, "").Prefix, uint64(0)
	if len(m.Attributes) > 0 {
		with = shard.Fingerprint("host=h0")
	}
	slow.lost = lost
	slow.fleetCount(now, meter, prefix, count)
	for _, d := range []*detector.Detector{one, many} {
		d.SetFleetLost(lost)
		d.FleetCount(now, meter, prefix, with, count, "over limit in the fleet")
	}
}

// compareTold holds the crossings against those of the oracle, but for the counts.
func compareTold(t *testing.T, about string, got, want []edgeguard.Crossing) {
	t.Helper()
	for i := range got {
		got[i].Node, got[i].Count, got[i].Limit, got[i].Threshold, got[i].Wide = "", 0, 0, 0, 0
		if i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: crossing %d is %+v,\nthe oracle says %+v", about, i, got[i], want[min(i, len(want)-1)])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d crossings, the oracle says %d", about, len(got), len(want))
	}
}

// TestOracleOfBlocks is TestOracle with random rules whose blocks meet: of other
// lengths and widths, with steps, and while the count is over.
func TestOracleOfBlocks(t *testing.T) {
	for round := range 15 {
		seed := rand.Uint64()
		holdAgainstOracle(t, randomBlocks(t, rand.New(rand.NewPCG(seed, 2))), seed, round, nil)
	}
}

func randomBlocks(t *testing.T, r *rand.Rand) *rules.Set {
	lengths := []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute, time.Hour}
	specs := make([]rules.Spec, 1+r.IntN(5))
	for i := range specs {
		k := r.IntN(len(lengths) - 2)
		specs[i] = rules.Spec{
			Name: fmt.Sprintf("r%d", i), Threshold: 3 + r.Uint32N(40), WhileOver: r.IntN(2) == 0, BlockFor: lengths[k],
			Window: []time.Duration{time.Minute, 5 * time.Minute}[r.IntN(2)],
		}
		if r.IntN(2) == 0 {
			specs[i].Escalate = lengths[k+1 : k+2+r.IntN(2)]
		}
		switch r.IntN(4) {
		case 0:
			specs[i].Match = rules.Match{Method: []string{"POST"}}
		case 1:
			specs[i].Key = rules.Group{V4: 24, V6: 48}
			specs[i].Threshold *= 3
		case 2:
			specs[i].Costs = []rules.Charge{{Match: rules.Match{Path: []string{"/search*"}}, Cost: 1 + r.Uint32N(60)}}
		}
	}
	return compile(t, specs...)
}
