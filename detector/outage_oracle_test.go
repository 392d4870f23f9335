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
	"edgeguard/rules"
)

// outageTwin is the oracle's part that holds back failures. Package outage has an oracle
// of its own: here it says which moments are armed.
type outageTwin struct {
	core   *outage.Guard
	own    *rules.Hosts
	turned bool // by the last answer
	times  int  // how often a scope was armed
	made   []madeTwin
	held   map[int]uint64 // events by meter
	// blocked, if set, says whether a list refused the client when its batch was opened.
	blocked *bool
}

type madeTwin struct {
	rule   *rules.Rule
	prefix netip.Prefix
	addr   netip.Addr
	since  time.Time
	before *step // nil for none
	valid  bool
}

func newOutageTwin(set *rules.Set, own *rules.Hosts) *outageTwin {
	for i := range set.Meters {
		if set.Meters[i].Guarded() {
			o := &outageTwin{core: outage.New(0), own: own, held: make(map[int]uint64)}
			o.core.Armed = func(uint8, uint32) { o.turned, o.times = true, o.times+1 }
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
	scope := uint8(min(o.own.Len()+int(ev.Source), 63))
	if i, ok := o.own.Which(ev.Host); ok && ev.Known&edgeguard.FieldHost != 0 {
		scope = uint8(i)
	}
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
	before, sec := o.times, uint32(min(now.Unix(), ev.Time.Unix()))
	held := false
	switch {
	case !blocked && shown:
		held = o.core.See(scope, sec, ev.Addr, ok)
	case !ok:
		held = o.core.Held(scope, sec)
	}
	if o.times > before {
		o.lift(now)
	}
	return held && !ok
}

// lift takes back the blocks of the last two minutes.
func (o *oracle) lift(now time.Time) {
	for _, m := range slices.Backward(o.made) {
		if now.Sub(m.since) > 2*time.Minute || !o.core.Succeeded(m.addr, uint32(now.Unix())) {
			continue
		}
		if b := o.blocks[m.prefix]; b != nil && b.rule == m.rule.Name && b.since.Equal(m.since) {
			delete(o.blocks, m.prefix)
		}
		delete(o.logs, logKey{m.rule.Meter, edgeguard.Key{Prefix: m.prefix}, true, false})
		delete(o.crossed, stepKey{m.rule.Name + " ", m.prefix})
		for i := range o.set.Meters { // by no rule is the next failure one too many
			other := &o.set.Meters[i]
			if !other.Guarded() || len(other.Attributes) > 0 || other.Key(m.prefix.Addr(), "").Prefix != m.prefix {
				continue
			}
			delete(o.logs, logKey{i, edgeguard.Key{Prefix: m.prefix}, true, false})
			for _, n := range other.Rules {
				delete(o.crossed, stepKey{o.set.Rules[n].Name + " ", m.prefix})
			}
		}
		key := stepKey{m.rule.Name, m.prefix}
		if delete(o.steps, key); m.valid {
			o.steps[key] = m.before
		}
	}
	o.made = nil
}

// hold counts an event aside, and tells whose limits it passes.
func (o *oracle) hold(i int, m *rules.Meter, now time.Time, ev *edgeguard.Event) {
	cost, matched := m.Match(ev)
	with, ok := m.With(ev, nil)
	value, known := valueOf(m, ev)
	nowSlot := uint32(now.Unix()) / m.Width
	slot := min(uint32(ev.Time.Unix())/m.Width, nowSlot)
	if !matched || !ok || !known || slot+60 <= nowSlot {
		return
	}
	o.held[i]++
	k := logKey{i, m.Key(ev.Addr, string(with)), true, true}
	counted := k
	counted.aside = false
	before := o.window(k, nowSlot, 0, 0)
	o.logs[k] = append(o.logs[k], logged{slot, uint32(cost), o.seq, value})
	own, rest := o.window(k, nowSlot, 0, 0), o.window(counted, nowSlot, 0, 0)
	if o.blockOf(now, ev.Addr) != nil {
		return
	}
	for _, n := range m.Rules {
		if r := &o.set.Rules[n]; own+rest > r.Limit && before+rest <= r.Limit {
			o.told = append(o.told, edgeguard.Crossing{Time: now, Rule: r.Name, Key: k.key, Action: edgeguard.ActionShadow, Held: true})
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
	failed := 0
	for round := range rounds(16) {
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
	if failed < rounds(16)/2 {
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
