package detector_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/rules"
)

// visits has 40 visitors, and who else is named, ask each 10 s for a while with a status.
func (b *bench) visits(from, until time.Time, status uint16, others ...string) {
	for at := from; at.Before(until); at = at.Add(10 * time.Second) {
		for i := range 40 {
			b.visit(fmt.Sprintf("100.64.%d.7", i), at, status)
		}
		for _, addr := range others {
			b.visit(addr, at, status)
		}
	}
}

func (b *bench) visit(addr string, at time.Time, status uint16) edgeguard.Verdict {
	ev := request(addr, at)
	ev.Kind |= edgeguard.KindResponse
	ev.Verified, ev.Known, ev.Status = ev.Kind, edgeguard.FieldStatus, status
	return b.Decide(at, &ev)
}

var missing = rules.Spec{Name: "missing", Threshold: 4, Guard: "1", Match: rules.Match{Status: []string{"404"}}, BlockFor: 10 * time.Minute, Escalate: []time.Duration{time.Hour}}

// A block from just before the site was found to fail is lifted with its step and its
// count: the key's next failures begin at 0. That of an address that never succeeded, and
// one of another rule, stay.
func TestLift(t *testing.T) {
	b := newBench(t, missing, rules.Spec{Name: "site", Threshold: 600, BlockFor: time.Hour})
	var lifted []string
	b.config.Lifted = func(_ time.Time, rule string, prefix netip.Prefix) { lifted = append(lifted, rule+" "+prefix.String()) }
	b.reload(t, b.specs...)
	fails := epoch.Add(30 * time.Minute)
	b.visits(epoch, fails, 200, someone)
	for range 601 {
		b.visit("203.0.113.9", fails, 200) // by rule site
	}
	for range 5 {
		b.visit(someone, fails, 404)
		b.visit("203.0.113.1", fails, 404) // a stranger
	}
	if n := b.list.Len(); n != 3 {
		t.Fatalf("%d blocks", n)
	}
	b.visits(fails, fails.Add(2*time.Minute), 404)
	if len(lifted) != 41 || !slices.Contains(lifted, "missing "+someone+"/32") {
		t.Errorf("lifted %q, want all 40 visitors and %s", lifted, someone)
	}
	for addr, want := range map[string]bool{someone: false, "203.0.113.1": true, "203.0.113.9": true} {
		if got := b.list.BlockOf(fails.Add(2*time.Minute), host(addr)) != nil; got != want {
			t.Errorf("%s is blocked: %t", addr, got)
		}
	}
	if last := b.told[len(b.told)-1]; !last.Lifted || last.Reason != "the site failed" || last.Origin != "here" {
		t.Errorf("told %+v", last)
	}
	for step := range b.Steps() {
		if step.Prefix == host(someone) {
			t.Errorf("a step is remembered: %+v", step)
		}
	}
	works := fails.Add(2 * time.Minute)
	b.visits(works, works.Add(2*time.Minute), 200)
	at := works.Add(2 * time.Minute)
	for i := range 5 {
		if v := b.visit(someone, at, 404); (v.Action == edgeguard.ActionDeny) != (i == 4) {
			t.Errorf("failure %d afterwards: %+v", i+1, v)
		}
	}
	if block := b.list.BlockOf(at, host(someone)); block == nil || !block.Until.Equal(at.Add(10*time.Minute)) {
		t.Errorf("the first block again: %+v", block)
	}
}

// A reload in an outage keeps what the watch knows and what was counted aside; an unblock
// forgets that, too; and a reload without such rules frees it.
func TestGuardReload(t *testing.T) {
	b := newBench(t, missing)
	var held []edgeguard.Crossing
	b.config.Crossed = func(c edgeguard.Crossing) { held = append(held, c) }
	b.reload(t, b.specs...)
	fails := epoch.Add(30 * time.Minute)
	b.visits(epoch, fails, 200)
	few := missing
	few.Threshold = 9
	b.reload(t, few)
	b.visits(fails, fails.Add(70*time.Second), 404)
	counted := b.UncountedInOutage(0)
	b.reload(t, few, rules.Spec{Name: "more", Threshold: 900})
	b.visits(fails.Add(70*time.Second), fails.Add(80*time.Second), 404)
	if all, late := b.Outages(); len(all) != 1 || !all[0].Armed || late != 0 || b.UncountedInOutage(0) != counted+40 || counted == 0 {
		t.Errorf("%+v, %d late, held %d and before %d", all, late, b.UncountedInOutage(0), counted)
	}
	b.visits(fails.Add(80*time.Second), fails.Add(2*time.Minute), 404)
	if len(held) == 0 {
		t.Error("nobody would be over the limit")
	}
	for _, c := range held {
		if !c.Excused || c.Action != edgeguard.ActionShadow || c.Count != c.Limit+1 {
			t.Fatalf("%+v", c)
		}
	}
	if b.list.Len() != 0 {
		t.Errorf("%d blocks", b.list.Len())
	}
	addr, n := host("100.64.0.7"), len(held)
	if forgotten := b.Clear(fails.Add(2*time.Minute), addr); forgotten != 2 {
		t.Errorf("%d counts were forgotten, of the rule and aside", forgotten)
	}
	for range 10 {
		b.visit("100.64.0.7", fails.Add(2*time.Minute), 404)
	}
	if len(held) != n+1 {
		t.Errorf("%d crossings after an unblock, %d before", len(held), n)
	}
	b.reload(t, rules.Spec{Name: "more", Threshold: 900})
	b.Detector.Close(nil)
	if used := b.memory.Stats(); used.KeyPages != 0 {
		t.Errorf("%+v", used)
	}
}

// What is not shown to the watch: answers of somebody who is blocked, allowed or
// protected, of forged evidence, redirects, and files of pages.
func TestGuardIsNotShown(t *testing.T) {
	b := newBench(t, missing)
	for i := range 400 {
		at := epoch.Add(time.Duration(i) * time.Second)
		for k, change := range []func(*edgeguard.Event){
			func(ev *edgeguard.Event) { ev.Status = 302 },
			func(ev *edgeguard.Event) {
				ev.Status, ev.Path, ev.Known = 200, "/a.CSS?x", ev.Known|edgeguard.FieldPath
			},
			func(ev *edgeguard.Event) { ev.Status, ev.Verified = 200, 0 },
			func(ev *edgeguard.Event) { ev.Status, ev.Known = 200, 0 },
			func(ev *edgeguard.Event) {
				ev.Status, ev.Kind, ev.Verified = 200, edgeguard.KindRequest, edgeguard.KindRequest
			},
		} {
			ev := request(fmt.Sprintf("100.64.%d.%d", i%200, k), at)
			ev.Kind |= edgeguard.KindResponse
			ev.Verified, ev.Known = ev.Kind, edgeguard.FieldStatus
			change(&ev)
			b.Decide(at, &ev)
		}
	}
	if all, _ := b.Outages(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	b.visit(someone, epoch.Add(400*time.Second), 204)
	if all, _ := b.Outages(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

// Parts of the site are told apart by host, the first name that is of it. Who names no host
// is of the part of its source, and who names a foreign one of none.
func TestParts(t *testing.T) {
	b := newBench(t, missing)
	b.config.Own, _ = rules.ParseHosts([]string{"*.example.org", "a.example.org"})
	b.reload(t, b.specs...)
	for i, ev := range []edgeguard.Event{{Host: "a.example.org"}, {Host: "B.example.org:80"}, {Host: "made-up-1"}, {Host: "made-up-2", Source: 3}, {Source: 3}, {Source: 200}, {Source: 255}} {
		asked := request("100.64.0.7", epoch)
		asked.Kind |= edgeguard.KindResponse
		asked.Verified, asked.Known, asked.Status, asked.Host, asked.Source = asked.Kind, edgeguard.FieldStatus|edgeguard.FieldHost, 200, ev.Host, ev.Source
		b.Decide(epoch.Add(time.Duration(i)*time.Second), &asked)
	}
	var got []detector.SitePart
	all, _ := b.Outages()
	for _, o := range all {
		got = append(got, o.Part)
	}
	if want := "[{1 0} {0 3} {0 61}]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// What other excusing rules had counted of an address whose block is lifted is forgotten,
// too: they may have crossed while it was blocked, and would block it for its next failure.
func TestLiftForgetsWhatOtherRulesCounted(t *testing.T) {
	other := rules.Spec{Name: "other", Threshold: 5, Guard: "1", Match: rules.Match{Status: []string{"4xx"}}, BlockFor: 5 * time.Minute}
	b := newBench(t, missing, other)
	fails := epoch.Add(30 * time.Minute)
	works := fails.Add(2 * time.Minute)
	b.visits(epoch, fails, 200)
	b.visits(fails, works, 404)
	if n := b.list.Len(); n != 0 {
		t.Fatalf("%d blocks while the site fails", n)
	}
	b.visits(works, works.Add(time.Minute), 200)
	at := works.Add(time.Minute)
	if v := b.visit("100.64.0.7", at, 404); v.Action != edgeguard.ActionPass {
		t.Errorf("a failure afterwards: %+v", v)
	}
}

// A visitor who went over the limit of an excusing rule that denies, just before the site was
// found to fail, is not refused afterwards. If the key is a network, its count is forgotten
// when the visitor who brought it over the limit had succeeded.
func TestLiftDenials(t *testing.T) {
	deny := rules.Spec{Name: "deny", Threshold: 4, Guard: "1", Match: rules.Match{Status: []string{"404"}}, Action: edgeguard.ActionDeny}
	net := deny
	net.Name, net.Key.V4 = "net", 24
	for _, spec := range []rules.Spec{deny, net} {
		b := newBench(t, spec)
		fails := epoch.Add(30 * time.Minute)
		works := fails.Add(2 * time.Minute)
		b.visits(epoch, fails, 200)
		for range 5 {
			b.visit("203.0.113.1", fails, 404) // a stranger
		}
		b.visits(fails, works, 404)
		b.visits(works, works.Add(time.Minute), 200)
		for addr, want := range map[string]edgeguard.Action{"100.64.0.7": edgeguard.ActionPass, "203.0.113.1": edgeguard.ActionDeny} {
			ev := request(addr, works.Add(time.Minute))
			if v := b.Decide(ev.Time, &ev); v.Action != want {
				t.Errorf("%s: %s is asked about: %+v", spec.Name, addr, v)
			}
		}
	}
}
