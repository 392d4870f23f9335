package admin

import (
	"fmt"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

// Evidence is what a key had counted when this node blocked it.
type Evidence struct {
	Prefix netip.Prefix `json:"prefix"`
	// With is the key's attributes, for a rule that counts by some.
	With   string    `json:"with,omitempty"`
	Rule   string    `json:"rule"`
	Origin string    `json:"origin"` // the node that made the block
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // or when it was lifted
	// Count, Limit and Threshold are those of the crossing. Fleet says that Count
	// is what all nodes counted.
	Count     uint32        `json:"count"`
	Limit     uint32        `json:"limit"`
	Threshold uint32        `json:"threshold"`
	Unit      words.Measure `json:"unit,omitzero"`
	Fleet     bool          `json:"fleet"`
	// MayBeCustomer says that the address was served three or more different pages of this site before a
	// rule of logins blocked it. A client can see to that.
	MayBeCustomer bool `json:"may_be_customer,omitempty"`
	// Window is the span in seconds; Slots its sixty parts on this node, the oldest
	// first. The last one holds Since.
	Window int      `json:"window_seconds"`
	Slots  []uint16 `json:"slots"`
	// Split is which node counted how much of Count, the greatest first: at most
	// 16. It is absent where this node counted alone.
	Split []NodeCount `json:"split,omitempty"`
}

// newEvidence returns evidence as the API shows it.
func newEvidence(e *edgeguard.Evidence) Evidence {
	out := Evidence{
		Prefix: e.Prefix, With: e.With, Rule: e.Rule, Origin: e.Node, Since: e.Since.UTC(), Until: e.Until.UTC(),
		Count: e.Count, Limit: e.Limit, Threshold: e.Threshold, Fleet: e.Fleet, MayBeCustomer: e.MayBeCustomer,
		Window: int(e.Width) * edgeguard.Slots, Slots: e.Slots[:],
	}
	for _, p := range e.Split {
		out.Split = append(out.Split, NodeCount(p))
	}
	return out
}

// Evidence returns what a key had counted when this node blocked exactly this
// prefix. Without any, why says why, and fix what to do.
func (v *View) Evidence(prefix netip.Prefix) (e Evidence, why, fix string) {
	if kept, ok := v.reader.Evidence(prefix); ok {
		e = newEvidence(&kept)
		e.Unit = v.reader.Unit(e.Rule, e.Origin)
		return e, "", ""
	}
	found := v.reader.Find(v.reader.Now(), prefix)
	b, exactly := exact(found, prefix)
	switch {
	case !exactly && len(found) > 0:
		return e, fmt.Sprintf("there is no block of exactly %s, but one of %s contains it", prefix, found[0].Prefix), "use " + found[0].Prefix.String()
	case !exactly:
		return e, fmt.Sprintf("this node has made no block of %s that lasted until yesterday", prefix), ""
	case b.Rule == edgeguard.ManualRule:
		return e, fmt.Sprintf("%s is blocked by hand: no rule counted it", prefix), ""
	case b.Origin != v.events.node:
		return e, fmt.Sprintf("node %s made the block of %s, and only that node has its counts", b.Origin, prefix), "ask node " + b.Origin
	}
	return e, "what " + prefix.String() + " had counted is not kept: the block is older than 4,096 others, or a network that was blocked for the blocks in it", ""
}
