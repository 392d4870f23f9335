package admin

import (
	"net/netip"
	"slices"
	"time"
)

// HeldBlock is a record of the fleet that is not in force here: a block, an allowance
// or an unblock that an operator has to confirm, or that waits for room.
type HeldBlock struct {
	Block
	// Share is the part of the last five minutes' requests that it alone would
	// have refused when it came, at Held.
	Share float64   `json:"share"`
	Held  time.Time `json:"held"`
	Kind  string    `json:"kind"` // block, allowance or unblock
	Why   string    `json:"why"`  // too_much, wide, pace or unseen
}

// HeldPage is one page of the blocks that wait, in the order of their prefixes.
type HeldPage struct {
	Held []HeldBlock `json:"held"`
	// Thresholds are the rules whose threshold for the whole fleet waits here; on the
	// first page.
	Thresholds []HeldThreshold `json:"thresholds,omitempty"`
	// Next is the cursor of the next page, empty on the last.
	Next string `json:"next,omitempty"`
}

// HeldThreshold is a rule and the fleet's threshold of it that waits here.
type HeldThreshold struct {
	Rule  string         `json:"rule"`
	Fleet FleetThreshold `json:"fleet"`
}

// ConfirmRequest confirms held blocks: those of the prefixes, or all.
type ConfirmRequest struct {
	Prefixes []string `json:"prefixes,omitempty"`
	All      bool     `json:"all,omitempty"`
}

// Confirmed is how many blocks a confirmation put in force.
type Confirmed struct {
	Confirmed int `json:"confirmed"`
}

// HeldPage returns one page of the held records, those after cursor.
func (v *View) HeldPage(cursor netip.Prefix, limit int) HeldPage {
	held := v.reader.Held()
	first, found := slices.BinarySearchFunc(held, cursor, comparePrefix)
	if found {
		first++
	}
	page := HeldPage{Held: append([]HeldBlock{}, held[first:min(first+limit, len(held))]...)}
	if first+limit < len(held) {
		page.Next = held[first+limit-1].Prefix.String()
	}
	if !cursor.IsValid() {
		page.Thresholds = heldThresholds(v.reader.Rules())
	}
	return page
}

// heldThresholds returns the rules whose threshold for the whole fleet waits here.
func heldThresholds(rules []Rule) (held []HeldThreshold) {
	for i := range rules {
		if f := rules[i].Fleet; f != nil && f.Held {
			held = append(held, HeldThreshold{rules[i].Name, *f})
		}
	}
	return held
}

// waits reports whether a block of exactly this prefix awaits confirmation.
func (v *View) waits(prefix netip.Prefix) bool {
	_, found := slices.BinarySearchFunc(v.reader.Held(), prefix, comparePrefix)
	return found
}

func comparePrefix(b HeldBlock, at netip.Prefix) int { return b.Prefix.Compare(at) }
