package console

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/console/draw"
	"edgeguard/internal/words"
)

// crossed is what an address had counted when it was blocked.
type crossed struct {
	At    moment
	With  string // attributes of the key
	Text  string // which node counted how much, or why nothing is known
	Split []nodePart
}

// pastRequest is a request that a client made.
type pastRequest struct {
	At                           moment
	Address, Method, Path, Agent string
	Status                       string
	Refused                      bool
}

// keysOf returns what an address is blocked or counted as, the block first.
func keysOf(addr netip.Addr, e *admin.Explanation) []netip.Prefix {
	var all []netip.Prefix
	if e.Block != nil {
		all = append(all, e.Block.Prefix)
	}
	for i := range e.Rules {
		if prefix, err := netip.ParsePrefix(e.Rules[i].Key); err == nil && !slices.Contains(all, prefix) {
			all = append(all, prefix)
		}
	}
	if single := netip.PrefixFrom(addr, addr.BitLen()); !slices.Contains(all, single) {
		all = append(all, single)
	}
	return all
}

// evidence returns that of the block in force, or else of the last one; nil with the
// reason where a rule's block is in force and it is not here, and without one where
// there is nothing to say.
func (p *addressHandlers) evidence(keys []netip.Prefix, e *admin.Explanation) (found *admin.Evidence, why string) {
	for i, prefix := range keys {
		one, missing, _ := p.view.Evidence(prefix)
		if missing == "" {
			return &one, ""
		}
		if i == 0 && e.Block != nil {
			why = missing
		}
	}
	if e.Block == nil || e.Block.Rule == edgeguard.ManualRule || e.Block.Owner != "" {
		why = ""
	}
	return nil, why
}

// views links to the two views of a page's chart, if there is something to see in the
// second.
func (a *addressPage) views(found *admin.Evidence, why string, then bool) {
	if found == nil && why == "" {
		return
	}
	path := "/address/" + a.Address
	a.Views = []link{{Name: "Live", Path: path, Current: !then}, {Name: "When it was blocked", Path: path + "?view=blocked", Current: then}}
}

// drawCrossing draws what was counted when the address was blocked, instead of what it
// counts now.
func (a *addressPage) drawCrossing(found *admin.Evidence, why string, e *admin.Explanation) {
	a.Chart, a.Slots, a.Fleet, a.Then = nil, nil, nil, &crossed{Text: strings.ToUpper(why[:min(1, len(why))]) + why[min(1, len(why)):] + "."}
	for i := range a.Rules {
		a.Rules[i].Shown = false
	}
	if found == nil {
		return
	}
	a.Rule, a.Then = found.Rule, &crossed{At: at(found.Since, e.Time), With: found.With, Text: counted(found), Split: parts(found.Split, found.Unit)}
	drawn := draw.NewChart(found.Slots, found.Window, found.Unit, levels(found.Limit, found.Threshold))
	drawn.Below[len(drawn.Below)-1].Label = "then"
	a.Chart, a.Slots = &drawn, slotRows(&admin.RuleCount{Slots: found.Slots, Window: found.Window, Unit: found.Unit}, found.Since)
}

// levels returns what a chart of a rule shows beside the counts.
func levels(limit, threshold uint32) []draw.Limit {
	all := []draw.Limit{{At: limit, Class: "limit", Label: "limit", Below: 13}}
	if threshold != limit {
		all = append(all, draw.Limit{At: threshold, Class: "threshold", Label: "threshold", Below: -4, Raw: true})
	}
	return all
}

// nodePart is what one node counted of a key.
type nodePart struct{ Node, Count string }

func parts(all []admin.NodeCount, unit words.Measure) (out []nodePart) {
	for _, n := range all {
		out = append(out, nodePart{n.Node, unit.Amount(n.Count)})
	}
	return out
}

// counted says which nodes counted what was over the limit.
func counted(found *admin.Evidence) string {
	sum := uint32(0)
	for _, n := range found.Slots {
		sum += uint32(n)
	}
	here := found.Unit.Amount(sum)
	text := fmt.Sprintf("%s, and the limit is %s. ", found.Unit.Of(found.Count), found.Unit.Amount(found.Limit))
	if found.MayBeCustomer {
		text = "It was " + admin.ServedPages + " before: it may be a customer, or somebody who fetched them to look like one. " + text
	}
	switch {
	case !found.Fleet:
		return text + found.Origin + " counted all of them."
	case len(found.Split) == 0:
		return text + fmt.Sprintf("%s counted %s of them, which are drawn here, and other nodes the rest.", found.Origin, here)
	}
	return text + together(found) + fmt.Sprintf(". Drawn here are the %s of %s.", here, found.Origin)
}

// together says how many nodes counted; "" where one did.
func together(found *admin.Evidence) string {
	numbers := []string{"", "", "Two nodes", "Three nodes", "Four nodes", "Five nodes", "Six nodes", "Seven nodes", "Eight nodes", "Nine nodes"}
	switch n := len(found.Split); {
	case !found.Fleet:
		return ""
	case n == 0:
		return "Several nodes counted them together"
	case n == 1: // not this one: its own count would have crossed before
		return found.Split[0].Node + " counted them"
	case n < len(numbers):
		return numbers[n] + " counted them together"
	default:
		return fmt.Sprintf("%d nodes or more counted them together", n)
	}
}

// madeBy says who made a rule's block, and which nodes counted for it.
func madeBy(b *admin.Block, found *admin.Evidence, e *admin.Explanation) clause {
	text := fmt.Sprintf("%s made the block at %s.", b.Origin, at(b.Since, e.Time).Clock)
	if found != nil && found.Fleet && found.Prefix == b.Prefix && found.Since.Equal(b.Since) {
		text = together(found) + "; " + text
	}
	return clause{". " + text, false}
}

// asks returns what an address asked for, the newest first, where the client of the
// page may see it. Of a network it is what this address asked for, and of an IPv6
// key, which is one client, all of it.
func (p *addressHandlers) asks(r *http.Request, addr netip.Addr, keys []netip.Prefix, e *admin.Explanation) (out []pastRequest) {
	var all []admin.Sample
	for _, prefix := range keys {
		list, _ := p.view.Samples(access.CallerOf(r).Role, prefix)
		for _, one := range list.Samples {
			if one.Address == addr || prefix.Bits() >= 64 {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b admin.Sample) int { return b.Time.Compare(a.Time) })
	for i := range all {
		out = append(out, newPastRequest(&all[i], addr, e.Time))
	}
	return out
}

// newPastRequest returns a request as the page of an address shows it, which it names if it is another's.
func newPastRequest(one *admin.Sample, addr netip.Addr, now time.Time) pastRequest {
	shown := pastRequest{At: at(one.Time, now), Method: one.Method, Path: one.Path, Agent: one.Agent, Refused: one.Refused}
	if one.Address != addr {
		shown.Address = one.Address.String()
	}
	if one.Status != 0 {
		shown.Status = fmt.Sprint(one.Status)
	}
	return shown
}
