package quarantine

import (
	"net/netip"
	"time"

	"edgeguard/detector"
)

// budget adds up the shares of the requests that blocks of other nodes took when they were
// admitted. A charge lasts as long as its block is in force on others' word: with one that
// ends after some minutes, whoever writes a fifth of the requests into the list again and
// again refuses all of them by the evening. Make one with newBudget.
type budget struct {
	charges map[netip.Prefix]float64
	sum     float64
	// full says that a share has not fitted since all of those that wait fitted.
	full bool
	// blind says that blocks were admitted without a sample to weigh them by.
	blind bool
}

func newBudget() budget { return budget{charges: make(map[netip.Prefix]float64)} }

func (b *budget) add(prefix netip.Prefix, share float64) {
	b.charges[prefix] += share
	b.sum += share
}

func (b *budget) refund(prefix netip.Prefix) {
	b.sum -= b.charges[prefix]
	delete(b.charges, prefix)
}

// charge adds a share to the budget if it fits. A block without one fits unless another
// has not: many such blocks add up. The caller holds the lock.
func (q *Quarantine) charge(prefix netip.Prefix, share float64) (fits bool) {
	b := &q.budget
	switch {
	case share == 0:
		return !b.full
	case b.sum+share <= q.limit:
		b.add(prefix, share)
		return true
	}
	// A share over the limit by itself says nothing about the budget.
	b.full = b.full || share <= q.limit
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
		sample.Senders(func(addr netip.Addr, share float64) {
			if _, block := q.list.Find(now, addr); block != nil && b.charges[block.Prefix] == 0 && q.weighed(now, block.Prefix) {
				b.add(block.Prefix, share)
			}
		})
	}
	b.sum = 0 // anew, without rounding errors
	for prefix, share := range b.charges {
		if q.weighed(now, prefix) {
			b.sum += share
		} else {
			delete(b.charges, prefix)
		}
	}
}

// weighed reports whether the block of a prefix is in force on others' word, and is
// weighed by its share.
func (q *Quarantine) weighed(now time.Time, prefix netip.Prefix) bool {
	t := q.list.Trust(prefix)
	return t.Elsewhere && !(t.Forced && t.Signed) && q.list.Of(now, prefix) != nil
}
