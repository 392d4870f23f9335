package fleet

import (
	"net/netip"
	"time"
)

const (
	// accountSlots slots of accountWidth are the five minutes that a sample is
	// of.
	accountSlots = 60
	accountWidth = 5 * time.Second
)

// account adds up the shares of prefixes over the last five minutes. Make one
// with newAccount.
type account struct {
	slots [accountSlots]struct {
		number int64 // which one, since the epoch
		share  float64
	}
	// charges are what was added by whom. A share is at least one sender's in
	// the sample, so that there are few.
	charges map[netip.Prefix]charge
}

// charge is one share in the account.
type charge struct {
	number int64 // of its slot
	share  float64
}

func newAccount() account { return account{charges: make(map[netip.Prefix]charge)} }

// add takes in the share of a prefix at now.
func (a *account) add(now time.Time, prefix netip.Prefix, share float64) {
	number := now.UnixNano() / int64(accountWidth)
	s := &a.slots[uint64(number)%accountSlots]
	if s.number != number {
		s.number, s.share = number, 0
		a.forget(number)
	}
	s.share += share
	was := a.charges[prefix]
	if was.number != number {
		was = charge{number: number}
	}
	a.charges[prefix] = charge{number, was.share + share}
}

// forget drops the charges that have left the account when the slot last
// begins.
func (a *account) forget(last int64) {
	for prefix, c := range a.charges {
		if last-c.number >= accountSlots {
			delete(a.charges, prefix)
		}
	}
}

// refund takes back what was added last for a prefix.
func (a *account) refund(prefix netip.Prefix) {
	c, ok := a.charges[prefix]
	if !ok {
		return
	}
	delete(a.charges, prefix)
	if s := &a.slots[uint64(c.number)%accountSlots]; s.number == c.number {
		s.share = max(0, s.share-c.share)
	}
	if len(a.charges) == 0 { // no crumbs of rounding
		clear(a.slots[:])
	}
}

// sum is what was added in the five minutes before now.
func (a *account) sum(now time.Time) (sum float64) {
	last := now.UnixNano() / int64(accountWidth)
	for i := range a.slots {
		if s := &a.slots[i]; s.number <= last && last-s.number < accountSlots {
			sum += s.share
		}
	}
	return sum
}
