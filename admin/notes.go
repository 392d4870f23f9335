package admin

import (
	"iter"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// ForGuests returns the same view without what operators wrote.
func (v *View) ForGuests() *View {
	guests := *v
	guests.reader, guests.discreet = withoutNotes{v.reader}, true
	return &guests
}

// withoutNotes is a Reader for clients without a login. It leaves out what
// operators wrote: every user of the host can ask, and a reason can name a
// customer. What rules wrote stays.
type withoutNotes struct{ Reader }

// Blocks implements Reader.
func (r withoutNotes) Blocks(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block] {
	return withoutReasons(r.Reader.Blocks(now, from))
}

// Newest implements Reader.
func (r withoutNotes) Newest(now time.Time, only blocklist.Only, after blocklist.Place) iter.Seq[edgeguard.Block] {
	return withoutReasons(r.Reader.Newest(now, only, after))
}

// Allowances implements Reader.
func (r withoutNotes) Allowances(now time.Time) iter.Seq[edgeguard.Block] {
	return withoutReasons(r.Reader.Allowances(now))
}

// Find implements Reader.
func (r withoutNotes) Find(now time.Time, prefix netip.Prefix) []edgeguard.Block {
	found := r.Reader.Find(now, prefix)
	for i := range found {
		found[i].Reason = shownReason(found[i].Rule, found[i].Reason)
	}
	return found
}

// Exact implements Reader.
func (r withoutNotes) Exact(now time.Time, prefix netip.Prefix) (edgeguard.Block, bool) {
	b, ok := r.Reader.Exact(now, prefix)
	b.Reason = shownReason(b.Rule, b.Reason)
	return b, ok
}

// Rules implements Reader.
func (r withoutNotes) Rules() []Rule {
	rules := append([]Rule{}, r.Reader.Rules()...)
	for i := range rules {
		if o := rules[i].Overlay; o != nil {
			rules[i].Overlay = &Overlay{Threshold: o.Threshold, Base: o.Base, Since: o.Since, Scope: o.Scope}
		}
		if f := rules[i].Fleet; f != nil {
			shown := *f
			shown.By, shown.Note, rules[i].Fleet = "", "", &shown
		}
	}
	return rules
}

// Held implements Reader.
func (r withoutNotes) Held() []HeldBlock {
	held := append([]HeldBlock{}, r.Reader.Held()...)
	for i := range held {
		held[i].Reason = shownReason(held[i].Rule, held[i].Reason)
	}
	return held
}

// Explain implements Reader.
func (r withoutNotes) Explain(now time.Time, addr netip.Addr) Explanation {
	e := r.Reader.Explain(now, addr)
	if strings.HasPrefix(e.Because, "allowance of ") {
		e.Because, _, _ = strings.Cut(e.Because, ": ") // the reason follows
	}
	if e.Block != nil {
		shown := *e.Block
		shown.Reason = shownReason(shown.Rule, shown.Reason)
		e.Block = &shown
	}
	return e
}

// Samples implements Reader: clients wrote them, and paths can hold personal data.
func (withoutNotes) Samples(netip.Prefix) KeptSamples { return KeptSamples{} }

// WithoutNote returns an event without what an operator wrote. That of a removal
// is always an operator's.
func (e *Event) WithoutNote() *Event {
	shown := *e
	if e.Block != nil {
		b := *e.Block
		if b.Reason = shownReason(b.Rule, b.Reason); e.Kind == EventUnblock {
			b.Reason = ""
		}
		shown.Block = &b
	}
	if e.Allowance != nil {
		a := *e.Allowance
		a.Reason = ""
		shown.Allowance = &a
	}
	return &shown
}

func withoutReasons(blocks iter.Seq[edgeguard.Block]) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for b := range blocks {
			b.Reason = shownReason(b.Rule, b.Reason)
			if !yield(b) {
				return
			}
		}
	}
}

// shownReason returns a reason unless an operator wrote it.
func shownReason(rule, reason string) string {
	if rule == edgeguard.ManualRule || edgeguard.Owner(rule) != "" {
		return ""
	}
	return reason
}
