package checks

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// Others knows what is in force from each source that is not this node, and raises the
// alarm about one that refuses or spares more than confirm_share of the requests here.
// Nothing is suspended for it: a flood that others found is most of the traffic, too, and
// whoever can send requests could otherwise end a block.
type Others struct {
	Current  func() *pipeline.Generation
	List     *blocklist.List
	Imported *imported.Set
	Held     func() map[blocklist.Source]int // what waits of other nodes' blocks and allowances
	Most     func(*config.Config) float64    // confirm_share
	Alarms   *alarm.Tracker

	mu    sync.Mutex // guards all below
	last  []admin.Elsewhere
	named map[string]bool // the sources that have an alarm
}

// Check raises the alarms, or ends them. It looks up each address of a sample.
func (e *Others) Check(now time.Time) {
	g := e.Current()
	all := e.holdings()
	g.Detector.LongSample(now).Senders(func(addr netip.Addr, share float64) {
		if from := e.from(now, addr); from.Kind != 0 {
			one := all[from]
			one.Share += share
			all[from] = one
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = nil
	named := map[string]bool{}
	for from, one := range all {
		one.Source, one.Name, one.Kind = from.Kind.String(), from.Name, kindOf(from.Allow)
		e.last = append(e.last, one)
		if most := e.Most(g.Config); one.Share > most && most < 1 {
			about := one.Source + " " + one.Name + " " + one.Kind
			named[about] = true
			e.Alarms.Begins(now, alarm.Elsewhere, about, elsewhereText(from, &one, most))
		}
	}
	for about := range e.named {
		if !named[about] {
			e.Alarms.Ends(alarm.Elsewhere, about)
		}
	}
	e.named = named
	slices.SortFunc(e.last, func(a, b admin.Elsewhere) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
}

// holdings returns what each source has in force, without its shares.
func (e *Others) holdings() map[blocklist.Source]admin.Elsewhere {
	all := map[blocklist.Source]admin.Elsewhere{}
	for from, h := range e.List.Elsewhere() {
		all[from] = admin.Elsewhere{Records: h.Records, IPv4: h.Width.V4, IPv6: h.Width.V6}
	}
	for _, s := range e.Imported.Stats() {
		all[blocklist.Source{Kind: blocklist.Imported, Name: s.Source}] = admin.Elsewhere{Records: s.InForce, IPv4: s.Width.V4, IPv6: s.Width.V6}
	}
	for from, n := range e.Held() {
		one := all[from]
		one.Held = n
		all[from] = one
	}
	return all
}

// from returns whose block or allowance decides about an address.
func (e *Others) from(now time.Time, addr netip.Addr) blocklist.Source {
	standing, from := e.List.StandingAndSource(now, addr)
	if standing != blocklist.None {
		return from
	}
	if _, hit := e.Imported.FindHit(now, addr); hit != nil {
		return blocklist.Source{Kind: blocklist.Imported, Name: edgeguard.Owner(hit.Block().Rule)}
	}
	return blocklist.Source{}
}

func kindOf(allow bool) string {
	if allow {
		return "allowance"
	}
	return "block"
}

func elsewhereText(from blocklist.Source, one *admin.Elsewhere, most float64) string {
	who := map[blocklist.Whose]string{
		blocklist.Signed: "other nodes of the fleet", blocklist.Unsigned: "other nodes of the fleet, unsigned,",
		blocklist.Owner: "the owner " + from.Name, blocklist.Imported: "the list " + from.Name,
	}[from.Kind]
	does, look := "refuse", "edgeguard blocks list"
	switch {
	case from.Allow:
		does, look = "spare", "edgeguard allow"
	case from.Kind == blocklist.Imported:
		look = "edgeguard blocklists"
	}
	if from.Name != "" {
		does += "s"
	}
	return fmt.Sprintf("%s %s %.0f %% of the last requests here, over confirm_share (%.0f %%): if this is not intended, look at `%s` and `edgeguard status`",
		who, does, 100*one.Share, 100*most, look)
}

// Report adds what is in force from elsewhere.
func (e *Others) Report(out *admin.Stats) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out.Elsewhere = slices.Clone(e.last)
}
