package quarantine

import (
	"net/netip"
	"slices"
	"time"
)

const (
	// mostBlocks is how many blocks of others a minute may bring before only single
	// keys that the sample does not know are admitted, mostOthers how many
	// unsigned unblocks and allowances, and mostKeys how many unsigned single keys while
	// there is no sample. The bounds are for the whole fleet: an origin
	// is a free text, and whoever forges one would silence a real node.
	mostBlocks, mostOthers, mostKeys = 20_000, 100, 100
	// sweepMost bounds the records that one Sweep admits, so that it ends soon.
	sweepMost = 5000

	paceSlots = 60
)

// counts is what is paced, by kind.
type counts [kinds]int

const (
	signedBlocks = iota
	unsignedBlocks
	others // unblocks and allowances
	keys   // unsigned, of a node that has no sample
	kinds
)

// The unsigned have no part of the signed blocks' pace: whoever can only write to Redis
// would otherwise use it up.
var most = counts{mostBlocks, mostBlocks, mostOthers, mostKeys}

// paceOf returns the kind of a block that is weighed.
func paceOf(one *Held) int {
	if one.Trust.Signed {
		return signedBlocks
	}
	return unsignedBlocks
}

// pace counts what was admitted in the last minute, by the second.
type pace struct {
	slots [paceSlots]struct {
		second int64
		counts counts
	}
	// queues are the held records that wait for room, oldest first. One that is held
	// for another reason by now, or no longer, is skipped at its turn.
	queues [kinds][]netip.Prefix
}

// hasRoom reports whether another one has room at now.
func (p *pace) hasRoom(now time.Time, which int) bool {
	last, sum := now.Unix(), 0
	for i := range p.slots {
		if s := &p.slots[i]; s.second <= last && last-s.second < paceSlots {
			sum += s.counts[which]
		}
	}
	return sum < most[which]
}

func (p *pace) count(now time.Time, which int) {
	second := now.Unix()
	s := &p.slots[uint64(second)%paceSlots]
	if s.second != second {
		s.second, s.counts = second, counts{}
	}
	s.counts[which]++
}

// enqueue adds a record to a queue, and returns how long the queue is.
func (p *pace) enqueue(which int, prefix netip.Prefix) int {
	p.queues[which] = append(p.queues[which], prefix)
	return len(p.queues[which])
}

// compact leaves each prefix that still waits in a queue once.
func (p *pace) compact(which int, waits func(netip.Prefix, int) (Held, bool)) {
	seen := make(map[netip.Prefix]bool)
	p.queues[which] = slices.DeleteFunc(p.queues[which], func(prefix netip.Prefix) bool {
		_, ok := waits(prefix, which)
		again := seen[prefix]
		seen[prefix] = true
		return !ok || again
	})
}

// takeLongestWaiting removes and returns the record that has waited longest.
func (p *pace) takeLongestWaiting(which int) (prefix netip.Prefix, ok bool) {
	q := p.queues[which]
	if len(q) == 0 {
		p.queues[which] = nil // and its memory
		return prefix, false
	}
	p.queues[which] = q[1:]
	return q[0], true
}
