package snapshot

import (
	"math"
	"time"
)

// Cut is when and where a snapshot was taken.
type Cut struct {
	// Node is the node's name, for people.
	Node string
	// Taken is the time of the cut, on the clock that the windows' slots and
	// the blocks' times are reckoned in.
	Taken time.Time
	// Offset is added to every time and every slot that is written, to make
	// them the epoch's: clockguard's Clock.Offset. It is 0 after Load.
	Offset time.Duration
}

func (e *encoder) cut(c *Cut) {
	e.text(c.Node)
	e.time(c.Taken.Add(c.Offset))
}

func (d *decoder) cut(c *Cut) {
	c.Node = d.text()
	c.Taken = d.time()
}

// shift is the offset in slots of width seconds.
func (c *Cut) shift(width uint32) int64 {
	return int64(c.Offset / (time.Duration(max(width, 1)) * time.Second))
}

// slotAt is the number of the slot of width seconds that t lies in.
func slotAt(t time.Time, width uint32) uint32 {
	return clampSlot(t.Unix() / int64(max(width, 1)))
}

func clampSlot(n int64) uint32 {
	return uint32(min(max(n, 0), math.MaxUint32))
}
