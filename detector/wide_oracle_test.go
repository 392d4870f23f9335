package detector_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
	"edgeguard/rules"
)

// share is what one key adds to the networks around it.
func (o *oracle) share(meter int) uint32 {
	share, refuses := uint32(0), false
	for _, k := range o.set.Meters[meter].Rules {
		switch r := &o.set.Rules[k]; {
		case r.Action == edgeguard.ActionShadow && !refuses:
			share = max(share, r.Limit)
		case r.Action != edgeguard.ActionShadow && (!refuses || r.Limit < share):
			share, refuses = r.Limit, true
		}
	}
	return share
}

// countWide counts an event in the networks around its key as the detector
// must, by looking at the whole log of each, and tells of what is over. own is
// the key's count with the event.
func (o *oracle) countWide(now time.Time, i int, m *rules.Meter, ev *edgeguard.Event, own uint32, out map[wideKey]seen) {
	if ev.Addr.Is4() || m.Everybody {
		return
	}
	share := o.share(i)
	cost, _ := m.Match(ev)
	part := min(own, share) - min(own-min(own, uint32(cost)), share)
	value, _ := valueOf(m, ev)
	if m.Distinct != 0 && own <= share {
		part = 1
	} else if m.Distinct != 0 {
		part = 0
	}
	if part == 0 {
		return
	}
	with, _ := m.AppendAttributes(ev, nil)
	nowSlot := uint32(now.Unix()) / m.Width
	for _, bits := range []int{56, 48} {
		if bits >= int(m.V6) {
			continue
		}
		prefix, _ := ev.Addr.Prefix(bits)
		k := logKey{i, edgeguard.Key{Prefix: prefix, With: string(with)}, true, false}
		n := seen{before: o.window(k, nowSlot, 0, 0), cost: part, counted: true}
		o.logs[k] = append(o.logs[k], logged{min(uint32(ev.Time.Unix())/m.Width, nowSlot), part, o.seq, value})
		n.own = o.window(k, nowSlot, 0, 0)
		out[wideKey{i, bits}] = n
	}
}

func (o *oracle) wideLimit(r *rules.Rule, bits int) uint32 {
	if bits == 56 || r.Wide == rules.WideStrict {
		return 16 * r.Limit
	}
	return 64 * r.Limit
}

// wideAction: the rules of TestWideOracle that name a part of the site say so.
func (o *oracle) wideAction(r *rules.Rule, bits int) edgeguard.Action {
	part := r.Name[0] == 'p'
	switch {
	case r.Wide == rules.WideReport, bits == 48 && !part:
		return edgeguard.ActionAlarm
	case bits == 48:
		return min(o.action(r), edgeguard.ActionDeny)
	}
	return o.action(r)
}

// TestWideOracle holds the counts of networks against a naive map of all events
// by prefix, one by one and in batches.
func TestWideOracle(t *testing.T) {
	fulltest.Only(t)
	path := rules.Match{Path: []string{"/login*"}}
	set := compile(t,
		rules.Spec{Name: "site", Threshold: 7, Guard: "1", BlockFor: time.Minute, Escalate: []time.Duration{2 * time.Minute, time.Hour}},
		rules.Spec{Name: "low", Threshold: 2, Action: edgeguard.ActionShadow, Wide: rules.WideStrict}, // the same meter
		rules.Spec{Name: "part", Match: path, Threshold: 2, BlockFor: 30 * time.Second},
		rules.Spec{Name: "part-off", Match: path, Window: time.Minute, Threshold: 1, Wide: rules.WideOff, Action: edgeguard.ActionShadow},
		rules.Spec{Name: "part-deny", Match: path, Window: 4 * time.Minute, Threshold: 1, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "part-strict", Match: rules.Match{Status: []string{"200-299"}}, Threshold: 3, Action: edgeguard.ActionDeny, Wide: rules.WideStrict},
		rules.Spec{Name: "part-with", Match: path, Key: rules.Group{With: []string{"host"}}, Threshold: 1, Action: edgeguard.ActionDeny, Window: time.Minute},
		rules.Spec{Name: "part-dear", Match: path, Threshold: 5, Cost: 3, Action: edgeguard.ActionDeny, Key: rules.Group{V6: 56}},
		rules.Spec{Name: "part-report", Match: path, Window: 2 * time.Minute, Threshold: 1, Action: edgeguard.ActionDeny, Wide: rules.WideReport},
		rules.Spec{Name: "paths", Distinct: "path", Threshold: 3, Guard: "1", BlockFor: time.Minute},
		rules.Spec{Name: "part-hosts", Distinct: "host", Match: path, Threshold: 1, Window: time.Minute, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "paths-many", Distinct: "path", Threshold: 30, BlockFor: time.Minute},
		rules.Spec{Name: "each", Key: rules.Group{V6: 128}, Window: 3 * time.Minute, Threshold: 5, BlockFor: 20 * time.Second},
	)
	for round := range rounds(12) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 2))
		nows, events := randomEvents(r, 4000)
		dense := time.Duration(1 + 9*(round%2)) // in half of the rounds many enough for 64 times a limit
		for i := range events {
			nows[i] = epoch.Add(nows[i].Sub(epoch) / dense)
			events[i].Time = epoch.Add(events[i].Time.Sub(epoch) / dense)
			if r.IntN(8) > 0 {
				events[i].Addr = netip.MustParseAddr(site64(uint16(r.IntN(2)), r.IntN(8)<<8+r.IntN(20)))
			}
			events[i].Kind |= edgeguard.KindResponse
			if events[i].Verified != 0 {
				events[i].Verified = events[i].Kind
			}
			events[i].Status = uint16(200 + 100*r.IntN(3))
			events[i].Known |= edgeguard.FieldStatus
			switch r.IntN(6) {
			case 0, 1, 2:
				events[i].Path = "/login"
			case 3:
				events[i].Path = fmt.Sprint("/login/", r.IntN(100), "?a=", i)
				events[i].Host = fmt.Sprint("H", r.IntN(40), ".example.org:", r.IntN(3))
			}
		}
		holdEvents(t, set, r, nows, events, fmt.Sprintf("round %d, seed %d", round, seed), nil)
	}
}
