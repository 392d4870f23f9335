package aggregator

import (
	"math"
)

// SplitLook is a key that is over its limit by an answer, which proves nothing.
type SplitLook struct {
	Key   Key
	Peak  uint32
	Heads []uint32 // the windows to look at end with these slots
	Sum   uint32   // what this node counted
	Own   uint32   // how much at most of this node's field counts
	Act   bool     // the node acts on the total
	Mine  bool     // it may be this node's push that crossed the limit
	Renew bool     // the node needs the others' part
	Slots bool     // it needs the slots, to know what will be left of it
	Moved bool     // the peak is of another window than the push's
}

// NewSplitLook returns what follows from the answer to a push.
func NewSplitLook(p *Push, a Answer, out Outcome) SplitLook {
	l := SplitLook{Key: p.Key, Peak: a.Peak, Sum: p.Sum, Heads: []uint32{p.NewestSlot()}, Own: math.MaxUint32, Act: out.Over, Mine: out.Crossed, Renew: out.Renew, Moved: a.Total < a.Peak}
	l.Slots = out.Renew
	if out.More {
		l.Own = p.Sum
	}
	return l
}
