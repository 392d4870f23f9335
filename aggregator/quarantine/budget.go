package quarantine

import (
	"net/netip"
	"time"
)

const (
	// budgetSlots slots of budgetWidth are the five minutes of a sample.
	budgetSlots = 60
	budgetWidth = 5 * time.Second
)

// budget adds up the shares of prefixes over the last five minutes. Make one
// with newBudget.
type budget struct {
	slots [budgetSlots]struct {
		number int64 // which one, since the epoch
		share  float64
	}
	// charges are what was added, by prefix. A share is at least that of one
	// client in the sample, so that there are few.
	charges map[netip.Prefix]charge
}

// charge is one share in the budget.
type charge struct {
	number int64 // of its slot
	share  float64
}

func newBudget() budget { return budget{charges: make(map[netip.Prefix]charge)} }

// add adds the share of a prefix at now.
func (b *budget) add(now time.Time, prefix netip.Prefix, share float64) {
	number := now.UnixNano() / int64(budgetWidth)
	s := &b.slots[uint64(number)%budgetSlots]
	if s.number != number {
		s.number, s.share = number, 0
		b.forget(number)
	}
	s.share += share
	if was := b.charges[prefix]; was.number == number {
		share += was.share
	}
	b.charges[prefix] = charge{number, share}
}

// forget drops the charges that have left the budget when the slot last begins.
func (b *budget) forget(last int64) {
	for prefix, c := range b.charges {
		if last-c.number >= budgetSlots {
			delete(b.charges, prefix)
		}
	}
}

// refund subtracts what was last added for a prefix.
func (b *budget) refund(prefix netip.Prefix) {
	c := b.charges[prefix]
	delete(b.charges, prefix)
	if s := &b.slots[uint64(c.number)%budgetSlots]; s.number == c.number {
		s.share = max(0, s.share-c.share)
	}
	if len(b.charges) == 0 { // removes rounding errors
		clear(b.slots[:])
	}
}

// sum returns what was added in the five minutes before now.
func (b *budget) sum(now time.Time) (sum float64) {
	last := now.UnixNano() / int64(budgetWidth)
	for i := range b.slots {
		if s := &b.slots[i]; s.number <= last && last-s.number < budgetSlots {
			sum += s.share
		}
	}
	return sum
}
