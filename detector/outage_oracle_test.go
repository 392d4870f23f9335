package detector_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/detector/outage"
	"edgeguard/internal/fulltest"
	"edgeguard/rules"
)

// outageTwin is the oracle's part that holds back failures. Package outage has an oracle
// of its own: here it says which moments are armed.
type outageTwin struct {
	core     *outage.Watch
	own      *rules.Hosts
	turned   bool           // by the last answer
	times    int            // how often a scope was armed
	begun    map[uint8]bool // scopes that the last answer armed
	spared   map[sparedTwin]uint32
	made     []madeTwin
	held     map[int]uint64        // events by meter
	scope    int                   // of the event in hand
	fails    bool                  // its answer is a failure
	charged  uint32                // what it spared its client
	taken    map[netip.Prefix]bool // by the lifts of one arming
	failures map[failedTwin]uint32
	// blocked, if set, says whether a list refused the client when its batch was opened.
	blocked *bool
}

// failedTwin is a meter's key in a scope, in a calendar minute.
type failedTwin struct {
	key    logKey
	scope  int
	minute int64
}

// failedOf is what failures in scopes that the last answer armed made of a count, in the
// minutes into which the last two reach.
func (o *outageTwin) failedOf(now time.Time, key logKey) (sum uint32) {
	for scope := range o.begun {
		for minute := (now.Unix() - 120) / 60; minute <= now.Unix()/60; minute++ {
			sum += o.failures[failedTwin{key, int(scope), minute}]
		}
	}
	return sum
}

// sparedTwin is a client on a day.
type sparedTwin struct {
	client netip.Prefix
	day    int64
}

// left is what a client may be spared yet, in thousandths of a limit.
func (o *outageTwin) left(now time.Time, addr netip.Addr) uint32 {
	k := sparedOf(now, addr)
	before := k
	before.day--
	return 60_000 - min(60_000, o.spared[k]+o.spared[before])
}

func sparedOf(now time.Time, addr netip.Addr) sparedTwin {
	one, _ := addr.Prefix(map[bool]int{true: 32, false: 64}[addr.Is4()])
	return sparedTwin{one, now.Unix() / 86400}
}

// leastLimit is that of the rules of a meter.
func leastLimit(set *rules.Set, m *rules.Meter) uint32 {
	least := uint32(1 << 31)
	for _, n := range m.Rules {
		least = min(least, set.Rules[n].Limit)
	}
	return least
}

// noScope is that of a block which no event made: any scope lifts it.
const noScope = -1

type madeTwin struct {
	rule   *rules.Rule
	prefix netip.Prefix
	addr   netip.Addr
	since  time.Time
	before *step // nil for none
	scope  int   // noScope for what the fleet counted
	valid  bool
}

func newOutageTwin(set *rules.Set, own *rules.Hosts) *outageTwin {
	for i := range set.Meters {
		if set.Meters[i].SparesOutages() {
			o := &outageTwin{core: outage.New(0), own: own, held: make(map[int]uint64), begun: make(map[uint8]bool), spared: make(map[sparedTwin]uint32), failures: make(map[failedTwin]uint32)}
			o.core.Armed = func(scope uint8, _ uint32) { o.turned, o.times, o.begun[scope] = true, o.times+1, true }
			o.core.Disarmed = func(uint8, uint32) { o.turned = true }
			return o
		}
	}
	return nil
}

func (o *outageTwin) failed() int {
	if o == nil {
		return 0
	}
	return o.times
}

func (o *outageTwin) heldOf(meter int) uint64 {
	if o == nil {
		return 0
	}
	return o.held[meter]
}

var assets = map[string]bool{"css": true, "js": true, "png": true} // of those in the events here

// answered shows the core an answer, and reports whether the failure is held back.
func (o *oracle) answered(now time.Time, ev *edgeguard.Event) bool {
	if ev.Known&edgeguard.FieldStatus == 0 || ev.Kind&ev.Verified&edgeguard.KindResponse == 0 || ev.Status < 100 {
		return false
	}
	scope := uint8(o.scopeOf(ev))
	shown, ok := true, false
	switch path, _, _ := strings.Cut(ev.Path, "?"); {
	case ev.Status >= 200 && ev.Status < 300, ev.Status == 304:
		ok = true
		fallthrough
	case ev.Status >= 400:
		dot := strings.LastIndexByte(path, '.')
		shown = ev.Status != 499 && (dot < 0 || !assets[strings.ToLower(path[dot+1:])] || ev.Known&edgeguard.FieldPath == 0)
	default:
		return false
	}
	blocked := o.blockOf(now, ev.Addr) != nil
	if o.blocked != nil {
		blocked = *o.blocked
	}
	o.fails = !ok
	before, sec := o.times, uint32(min(now.Unix(), ev.Time.Unix()))
	held := false
	switch {
	case !blocked && shown:
		held = o.core.CountAnswer(scope, sec, ev.Addr, ok)
	case !ok:
		held = o.core.IsExcused(scope, sec)
	}
	if o.times > before {
		o.lift(now)
	}
	return held && !ok && o.left(now, ev.Addr) > 0
}

// scopeOf is the scope of an event: 64 for one that names a foreign host.
func (o *outageTwin) scopeOf(ev *edgeguard.Event) int {
	if o.own.Len() > 0 && ev.Known&edgeguard.FieldHost != 0 && ev.Host != "" {
		i, ok := o.own.Which(ev.Host)
		if !ok {
			return 64
		}
		return i
	}
	return min(o.own.Len()+int(ev.Source), 63)
}

// lift takes back the blocks of the last two minutes by events of the scopes that fail, and
// what was counted in these.
func (o *oracle) lift(now time.Time) {
	var others []madeTwin
	o.taken = make(map[netip.Prefix]bool)
	for _, m := range slices.Backward(o.made) {
		switch {
		case now.Sub(m.since) > 2*time.Minute:
		case m.scope != noScope && !o.begun[uint8(m.scope)]:
			others = append(others, m)
		case o.core.Succeeded(m.addr, uint32(now.Unix())):
			o.liftOne(now, m)
		}
	}
	slices.Reverse(others)
	o.made = others
	clear(o.begun)
}

// takesBack takes what failed off the logs of the last two minutes or of the newest slot, the
// newest first, and returns how much: of different values all.
func (o *oracle) takesBack(m *rules.Meter, now time.Time, key logKey, failed uint32) (left []logged, taken, keeps uint32) {
	nowSlot, from := uint32(now.Unix())/m.Width, uint32(now.Unix()-120)/m.Width
	count := o.window(key, nowSlot, 0, 0)
	if m.Distinct != 0 {
		return nil, count, count - min(count, failed)
	}
	if m.Width > 120 {
		from = nowSlot
	}
	left = slices.Clone(o.logs[key])
	slices.SortStableFunc(left, func(a, b logged) int { return int(a.slot) - int(b.slot) })
	for i := range slices.Backward(left) {
		if l := &left[i]; l.slot >= from && l.slot <= nowSlot && l.slot+60 > nowSlot {
			n := min(l.cost, failed-taken)
			taken, l.cost = taken+n, l.cost-n
		}
	}
	return left, taken, count - taken
}

func (o *oracle) liftOne(now time.Time, m madeTwin) {
	all := []int{m.rule.Meter}
	for i := range o.set.Meters {
		if other := &o.set.Meters[i]; i != m.rule.Meter && other.SparesOutages() && len(other.Attributes) == 0 && other.Key(m.prefix.Addr(), "").Prefix == m.prefix {
			all = append(all, i)
		}
	}
	most := uint32(0)
	logs := make(map[logKey][]logged)
	for n, i := range all {
		meter, key, limit := &o.set.Meters[i], logKey{i, edgeguard.Key{Prefix: m.prefix}, true, false}, leastLimit(o.set, &o.set.Meters[i])
		if n == 0 {
			limit = m.rule.Limit
		}
		failed := o.failedOf(now, key)
		if o.taken[m.prefix] {
			failed = 0
		}
		left, taken, keeps := o.takesBack(meter, now, key, failed)
		if logs[key] = left; n == 0 && keeps > limit {
			return
		}
		most = max(most, (taken+o.restOf(now, i, key.key))*1000/limit)
	}
	if most > o.left(now, m.addr) {
		return
	}
	o.taken[m.prefix] = true
	o.spared[sparedOf(now, m.addr)] += most
	if b := o.blocks[m.prefix]; b != nil && b.rule == m.rule.Name && b.since.Equal(m.since) {
		delete(o.blocks, m.prefix)
	}
	for key, left := range logs {
		o.logs[key] = left
		for _, n := range o.set.Meters[key.meter].Rules {
			delete(o.crossed, stepKey{o.set.Rules[n].Name + " ", m.prefix})
		}
	}
	key := stepKey{m.rule.Name, m.prefix}
	if delete(o.steps, key); m.valid {
		o.steps[key] = m.before
	}
}

// restOf is what the rest of a fleet counted of a meter's key that a rule of scope fleet asks.
func (o *oracle) restOf(now time.Time, i int, key edgeguard.Key) uint32 {
	m := &o.set.Meters[i]
	if o.rest == nil || !slices.ContainsFunc(m.Rules, func(n int) bool { return o.set.Rules[n].Scope == rules.ScopeFleet }) {
		return 0
	}
	return o.rest(i, key, uint32(now.Unix())/m.Width)
}

// hold counts an event aside, and tells whose limits it passes.
func (o *oracle) hold(i int, m *rules.Meter, now time.Time, ev *edgeguard.Event) {
	cost, matched := m.Match(ev)
	with, ok := m.AppendAttributes(ev, nil)
	value, known := valueOf(m, ev)
	nowSlot := uint32(now.Unix()) / m.Width
	slot := min(uint32(ev.Time.Unix())/m.Width, nowSlot)
	if !matched || !ok || !known || slot+60 <= nowSlot || m.Everybody && o.blockOf(now, ev.Addr) != nil {
		return
	}
	o.held[i]++
	k := logKey{i, m.Key(ev.Addr, string(with)), true, true}
	counted := k
	counted.aside = false
	before := o.window(k, nowSlot, 0, 0)
	o.logs[k] = append(o.logs[k], logged{slot, uint32(cost), o.seq, value})
	own, rest := o.window(k, nowSlot, 0, 0), o.window(counted, nowSlot, 0, 0)
	if n := min((own-before)*1000/leastLimit(o.set, m), 20_001); n > o.charged && !m.Everybody {
		o.spared[sparedOf(now, ev.Addr)] += n - o.charged
		o.charged = n
	}
	if o.blockOf(now, ev.Addr) != nil {
		return
	}
	for _, n := range m.Rules {
		if r := &o.set.Rules[n]; own+rest > r.Limit && before+rest <= r.Limit {
			o.told = append(o.told, edgeguard.Crossing{Time: now, Rule: r.Name, Key: k.key, Action: edgeguard.ActionShadow, Excused: true})
		}
	}
}

// decideBatch decides as a batch does: a client is refused or not as its batch was opened,
// and a batch ends with the event that arms or disarms a scope.
func (o *oracle) decideBatch(nows []time.Time, events []edgeguard.Event, decided func(i int, action edgeguard.Action, rule string)) {
	if o.outageTwin == nil {
		o.outageTwin = &outageTwin{} // to end batches by
		defer func() { o.outageTwin = nil }()
	}
	for from := 0; from < len(events); {
		var blocked [64]bool
		for i := range min(64, len(events)-from) {
			blocked[i] = o.blockOf(nows[from+i], events[from+i].Addr) != nil
		}
		for i := range min(64, len(events)-from) {
			o.turned, o.blocked = false, &blocked[i]
			action, rule, _ := o.decide(nows[from], &events[from])
			decided(from, action, rule)
			if from++; o.turned {
				break
			}
		}
	}
}

// TestOracleOfOutages is TestOracle with a site that fails now and then, alone and in a
// fleet.
func TestOracleOfOutages(t *testing.T) {
	fulltest.Only(t)
	failed := 0
	for round := range rounds(32) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 4))
		var rest func(meter int, key edgeguard.Key, slot uint32) uint32
		if round%3 == 2 {
			rest = func(meter int, _ edgeguard.Key, slot uint32) uint32 {
				return uint32((seed ^ uint64(meter)<<32 ^ uint64(slot)) * 0x9e3779b97f4a7c15 >> 61)
			}
		}
		var own *rules.Hosts
		if round%2 == 1 {
			own, _ = rules.ParseHosts([]string{"a.example.org", "*.example.org"})
		}
		nows, events := failingSite(r)
		failed += holdFor(t, randomGuarded(t, r), own, r, nows, events, fmt.Sprintf("round %d, seed %d", round, seed), rest)
	}
	if failed < rounds(32)/2 {
		t.Errorf("the site failed %d times", failed)
	}
}

// randomGuarded makes rules of which most go by the status.
func randomGuarded(t *testing.T, r *rand.Rand) *rules.Set {
	lengths := []time.Duration{5 * time.Second, 20 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute, time.Hour}
	specs := []rules.Spec{{Name: "site", Threshold: 40, BlockFor: time.Minute}}
	for i := range 2 + r.IntN(4) {
		k := r.IntN(len(lengths) - 2)
		spec := rules.Spec{
			Name: fmt.Sprintf("r%d", i), Threshold: 2 + r.Uint32N(8), WhileOver: r.IntN(3) == 0, BlockFor: lengths[k],
			Window: []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, time.Hour}[i%4], Match: rules.Match{Status: []string{"400-499"}},
		}
		if r.IntN(2) == 0 {
			spec.Escalate = lengths[k+1 : k+2+r.IntN(2)]
		}
		switch r.IntN(7) {
		case 0:
			spec.Match = rules.Match{}
			spec.When = "status >= 400"
		case 1:
			spec.Distinct, spec.Escalate = "path", nil
		case 2:
			spec.Action, spec.WhileOver, spec.Escalate = edgeguard.ActionDeny, false, nil
			spec.Key = []rules.Group{{}, {V4: 24}, {With: []string{"path"}}}[r.IntN(3)]
		case 3:
			spec.Action, spec.WhileOver, spec.Escalate = edgeguard.ActionShadow, false, nil
		case 4:
			spec.Cost = 1 + r.Uint32N(3)
		}
		specs = append(specs, spec)
	}
	return compile(t, specs...)
}

// failingSite makes the events of a site with about 90 visitors, of IPv4 and IPv6, of
// which one or two outages make each answer a failure, and of a few attackers.
func failingSite(r *rand.Rand) (nows []time.Time, events []edgeguard.Event) {
	var visitors []string
	for i := range 60 {
		visitors = append(visitors, fmt.Sprintf("198.51.%d.%d", i/2, 1+i%2))
	}
	for i := range 30 {
		visitors = append(visitors, fmt.Sprintf("2001:db8:%x:%x::1", 0x100+i/2, i))
	}
	begins := time.Duration(9+r.IntN(3)) * time.Minute
	lasts := time.Duration(90+r.IntN(150)) * time.Second
	again := begins + lasts + time.Duration(r.IntN(200))*time.Second
	status := []uint16{401, 404, 404, 500, 503}[r.IntN(5)]
	for now := time.Duration(0); now < again+4*time.Minute; now += time.Duration(r.IntN(400)) * time.Millisecond {
		ev := request(visitors[r.IntN(len(visitors))], epoch.Add(now))
		ev.Kind |= edgeguard.KindResponse
		ev.Verified, ev.Known = ev.Kind, edgeguard.FieldHost|edgeguard.FieldMethod|edgeguard.FieldPath|edgeguard.FieldStatus
		ev.Host, ev.Method, ev.Path = []string{"a.example.org", "A.example.org:80", "b.example.org", "other"}[min(3, r.IntN(12))], "GET", fmt.Sprint("/", r.IntN(6))
		ev.Status = 200
		fails := now >= begins && now < begins+lasts || now >= again && now < again+100*time.Second
		switch n := r.IntN(40); {
		case n == 0: // an attacker
			ev.Addr, ev.Status = netip.MustParseAddr(fmt.Sprintf("203.0.113.%d", r.IntN(3))), 404
		case n == 1:
			ev.Verified = 0
		case n == 2:
			ev.Known &^= edgeguard.FieldHost
		case n == 3:
			ev.Time = ev.Time.Add(-time.Duration(r.IntN(90)) * time.Second)
		case n == 4:
			ev.Addr = netip.MustParseAddr("192.0.1.5") // allowed
		case n == 5 && !fails:
			ev.Status = 404
		case n == 7:
			ev.Path = []string{"/a.css?x=.php", "/a/b.PNG", "/a.js/b", "/a.php?b.css"}[r.IntN(4)]
		case n == 8:
			ev.Status = []uint16{301, 304, 499, 100, 0}[r.IntN(5)]
			fails = false
		case n == 6:
			ev.Known &^= edgeguard.FieldStatus
		}
		if fails && r.IntN(60) > 0 && ev.Known&edgeguard.FieldStatus != 0 {
			ev.Status = status
		}
		nows, events = append(nows, epoch.Add(now)), append(events, ev)
	}
	return nows, events
}
