package aggregator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"edgeguard/ring"
)

// What Redis holds of a key that is over its limit by the fleet's total is judged before it
// blocks. Pushes are not signed, so a total is no more than what somebody wrote. It counts as
// far as it is made of fields whose nodes sent heartbeats, and what a node holds of itself
// counts as far as that node claims it.

// SplitField is one field of a split: what Redis holds under one name.
type SplitField struct {
	Name  string // a node's ID, or what another client wrote
	Count uint32
	// Slots are what Count is the sum of, oldest first, in one byte each or in two; "" where
	// they were not asked for.
	Slots string
}

// slotAt returns the i-th of the slots.
func (f *SplitField) slotAt(i int) uint16 {
	switch len(f.Slots) {
	case ring.Slots:
		return uint16(f.Slots[i])
	case 2 * ring.Slots:
		return uint16(f.Slots[2*i])<<8 | uint16(f.Slots[2*i+1])
	}
	return 0
}

// NodeID returns the ID of the node that may have made the field; false if it has
// none.
func (f SplitField) NodeID() (id [8]byte, ok bool) {
	if len(f.Name) != len(id) {
		return id, false
	}
	return [8]byte([]byte(f.Name)), true
}

// SplitFields parses an answer of the split function, of counts or of slots. It ignores what
// is no field.
func SplitFields(answer []any) []SplitField {
	var fields []SplitField
	for ; len(answer) >= 2; answer = answer[2:] {
		name, isText := answer[0].(string)
		if !isText {
			continue
		}
		f := SplitField{Name: name}
		switch count := answer[1].(type) {
		case int64:
			if count > 0 && count <= math.MaxUint32 {
				f.Count = uint32(count)
			}
		case string:
			f.Slots = count
			for i := range ring.Slots {
				f.Count += uint32(f.slotAt(i))
			}
		}
		if f.Count > 0 {
			fields = append(fields, f)
		}
	}
	return fields
}

// SplitByNode returns what each node counted, the greatest count first. name returns the
// name of a node, or "".
func SplitByNode(fields []SplitField, name func(id [8]byte) string) []NodeCount {
	var parts []NodeCount
	for _, f := range fields {
		if id, ok := f.NodeID(); ok {
			parts = append(parts, NodeCount{Node: cmp.Or(name(id), fmt.Sprintf("unknown node (%x)", id[:3])), Count: f.Count})
		}
	}
	return SumByNode(parts)
}

// SplitJudge says which fields count.
type SplitJudge struct {
	Own [8]byte // this node's ID
	// Known reports whether a node with this ID sent a heartbeat so lately that
	// its counts may be in a window.
	Known func(id [8]byte) bool
}

// SplitSum is what of a split counts.
type SplitSum struct {
	Counted uint32
	Fields  []SplitField // those that count
	// Stranger is the greatest field that does not count.
	Stranger SplitField
	At       int // of several splits, which one
}

// GreatestSum returns the greatest sum of some splits of a key. This node's field counts
// with own at most.
func (j SplitJudge) GreatestSum(splits [][]SplitField, own uint32) (most SplitSum) {
	for i, fields := range splits {
		if s := j.sum(fields, own); i == 0 || s.Counted > most.Counted {
			most, most.At = s, i
		}
	}
	return most
}

func (j SplitJudge) sum(fields []SplitField, own uint32) (s SplitSum) {
	for _, f := range fields {
		if !j.counts(f) {
			if f.Count > s.Stranger.Count {
				s.Stranger = f
			}
			continue
		}
		if id, _ := f.NodeID(); id == j.Own {
			f.Count = min(f.Count, own)
		}
		s.Counted += min(f.Count, math.MaxUint32-s.Counted)
		s.Fields = append(s.Fields, f)
	}
	return s
}

func (j SplitJudge) counts(f SplitField) bool {
	id, ok := f.NodeID()
	return ok && (id == j.Own || j.Known(id))
}

// Strange reports whether one of the fields of some splits does not count.
func (j SplitJudge) Strange(splits [][]SplitField) bool {
	return slices.ContainsFunc(splits, func(fields []SplitField) bool {
		return slices.ContainsFunc(fields, func(f SplitField) bool { return !j.counts(f) })
	})
}

// SplitWindows is about how many windows Around returns.
const SplitWindows = 16

// HeadsAround returns with which slots a window may end in which a total had its peak,
// of a push with this head: one may be late, and nodes' clocks may differ.
func HeadsAround(head, width uint32) (heads []uint32) {
	const differ = 5 // seconds: Redis refuses more
	ahead := differ/max(width, 1) + 1
	for slot := head - (Kept - ring.Slots) - ahead; slot <= head+ahead; slot++ {
		heads = append(heads, slot)
	}
	return heads
}

// String names a field that does not count, for an operator: its name may be
// anything.
func (f SplitField) String() string {
	switch {
	case f.Count == 0:
		return "a total without nodes"
	case len(f.Name) > 8:
		return fmt.Sprintf("%d in the field %x…", f.Count, f.Name[:8])
	}
	return fmt.Sprintf("%d in the field %x", f.Count, f.Name)
}

// SplitSince returns since when, at now, a node must have sent a heartbeat so that its
// counts may be in a window of this length: a push may be an eighth of a window
// late, and a heartbeat some seconds older than a push.
func SplitSince(now time.Time, window time.Duration) time.Time {
	return now.Add(-SplitRemembered(window))
}

// SplitRemembered returns how long after its last heartbeat a node's counts may be in a
// window of this length.
func SplitRemembered(window time.Duration) time.Duration { return window + window/4 + 10*time.Second }
