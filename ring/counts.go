package ring

import "math"

// Max is the most that one slot holds. A slot that is full stays there and
// does not wrap, so that a window never counts less than it saw up to here.
const Max = math.MaxUint16

// Counts is the slots of a window: slot s is at s % [Slots]. The owner
// keeps the window's head, the newest slot: the slots are head-59 to head. The zero value is empty. It is 120 bytes and not safe
// for concurrent use.
type Counts [Slots]uint16

// Add adds cost to slot, which must be in the window, and returns how much of
// it the slot still had room for.
func (c *Counts) Add(slot uint32, cost uint16) (added uint16) {
	at := &c[slot%Slots]
	added = min(cost, Max-*at)
	*at += added
	return added
}

// Advance empties the slots that leave the window when its head moves on to
// now, and returns their sum. It takes at most [Slots] steps, and so no more
// than one for each slot of time that has passed.
func (c *Counts) Advance(head, now uint32) (left uint32) {
	if now <= head {
		return 0
	}
	if now-head >= Slots {
		left = c.Sum()
		*c = Counts{}
		return left
	}
	at := now % Slots // the slot that enters takes the place of the one that leaves
	for range now - head {
		left += uint32(c[at])
		c[at] = 0
		if at == 0 {
			at = Slots
		}
		at--
	}
	return left
}

// Leaving returns what [Counts.Advance] would, and changes nothing.
func (c *Counts) Leaving(head, now uint32) uint32 {
	if now <= head {
		return 0
	}
	if now-head >= Slots {
		return c.Sum()
	}
	var sum uint32
	for s := head + 1; s <= now; s++ {
		sum += uint32(c[s%Slots])
	}
	return sum
}

// Sum returns the sum of all slots.
func (c *Counts) Sum() uint32 {
	var sum uint32
	for _, n := range c {
		sum += uint32(n)
	}
	return sum
}
