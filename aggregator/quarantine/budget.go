package quarantine

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
)

// budget adds up the shares of the requests that blocks of other nodes took when they were
// admitted. A charge lasts as long as its block is in force on others' word: with one that
// ends after some minutes, whoever writes a fifth of the requests into the list again and
// again refuses all of them by the evening. Make one with newBudget.
//
// The unsigned have what the signed leave, and the signed do not see the unsigned: whoever
// can only write to Redis could otherwise use the budget up, and keep all nodes from what
// those with the key block.
type budget struct {
	charges map[netip.Prefix]charge
	sum     sums
	// full says that a share has not fitted since all of those that wait fitted.
	full struct{ signed, unsigned bool }
	// blind says that blocks were admitted without a sample to weigh them by.
	blind bool
}

type charge struct {
	share  float64
	signed bool
}

type sums struct{ signed, unsigned float64 }

func newBudget() budget { return budget{charges: make(map[netip.Prefix]charge)} }

// charge charges so much more for a prefix.
func (b *budget) charge(prefix netip.Prefix, share float64, signed bool) {
	share += b.charges[prefix].share
	b.refund(prefix)
	b.charges[prefix] = charge{share, signed}
	b.sum.add(share, signed)
}

func (b *budget) refund(prefix netip.Prefix) {
	if had, ok := b.charges[prefix]; ok {
		b.sum.add(-had.share, had.signed)
		delete(b.charges, prefix)
	}
}

func (s *sums) add(share float64, signed bool) {
	if signed {
		s.signed += share
	} else {
		s.unsigned += share
	}
}

// usedBeside returns what is used that one block competes with.
func (s *sums) usedBeside(signed bool) float64 {
	if signed {
		return s.signed
	}
	return s.signed + s.unsigned
}

func (b *budget) isFull(signed bool) bool { return b.full.signed || !signed && b.full.unsigned }

func (b *budget) refill(signed bool) {
	if signed {
		b.full.signed = true
	} else {
		b.full.unsigned = true
	}
}

// charge adds a share to the budget if it fits. A block without one fits unless another
// has not: many such blocks add up. The caller holds the lock.
func (q *Quarantine) charge(one *Held, share float64) (fits bool) {
	b, signed := &q.budget, one.Trust.Signed
	had := b.charges[one.Prefix].share
	switch {
	case share == 0:
		return !b.isFull(signed)
	case share <= had: // the block in force that it prolongs is charged with it
		return true
	case b.sum.usedBeside(signed)+share-had <= q.limit:
		b.charge(one.Prefix, share-had, signed)
		return true
	case share <= q.limit: // one over the limit by itself says nothing about the budget
		b.refill(signed)
	}
	return false
}

// settleCharges drops the charges of blocks that have ended, or are in force on this
// node's own word now. What was admitted without a sample is charged with what it refuses
// now that there is one: nothing in force is suspended, but what comes then has less room.
// The caller holds the lock.
func (q *Quarantine) settleCharges(now time.Time, sample *detector.Sample) {
	b := &q.budget
	if b.blind && sample.Enough() {
		b.blind = false
		found := make(map[netip.Prefix]float64)
		sample.Senders(func(addr netip.Addr, share float64) {
			if _, block := q.list.Find(now, addr); block != nil {
				found[block.Prefix] += share
			}
		})
		for prefix, share := range found {
			if _, charged := b.charges[prefix]; !charged {
				b.charge(prefix, share, false) // whose it is, and whether it is weighed, is found below
			}
		}
	}
	b.sum = sums{} // anew, without rounding errors
	for prefix, one := range b.charges {
		t := q.list.Trust(prefix)
		if weighed(t) && q.list.BlockOf(now, prefix) != nil {
			b.charges[prefix] = charge{one.share, t.Signed}
			b.sum.add(one.share, t.Signed)
		} else {
			delete(b.charges, prefix)
		}
	}
}

// weighed reports whether a block in force is so on others' word, and is weighed by its
// share.
func weighed(t blocklist.Trust) bool { return t.Elsewhere && !(t.Forced && t.Signed) }

// refuses returns a function that reports whether a block would decide about an address:
// whether this node does not itself refuse it by its counts, or spare it. What other nodes
// refuse or spare does not count. Who writes a network for a minute and keys inside it for a
// year, or ends what hides them, would otherwise be charged with nothing.
func (q *Quarantine) refuses(now time.Time) func(netip.Addr) bool {
	return func(addr netip.Addr) bool {
		switch standing, hit := q.list.FindHit(now, addr); standing {
		case blocklist.None:
			return true
		case blocklist.Blocked:
			return !found(hit)
		case blocklist.Allowed:
			_, from := q.list.StandingAndSource(now, addr)
			return from.Kind != 0
		}
		return false
	}
}

// covered reports whether this node itself found all that a block would refuse.
func (q *Quarantine) covered(now time.Time, one *Held) bool {
	standing, hit := q.list.FindHit(now, one.Prefix.Addr())
	return standing == blocklist.Blocked && hit.Block().Prefix.Bits() <= one.Prefix.Bits() && found(hit)
}

// found reports whether a rule's block is right by what was counted here, or proven.
func found(hit *blocklist.Hit) bool { return !hit.Elsewhere() && counted(hit.Block()) }

// counted reports whether a rule made a block, and not an operator or another program.
func counted(b *edgeguard.Block) bool {
	return b.Rule != edgeguard.ManualRule && edgeguard.Owner(b.Rule) == ""
}
