package fleet

import "time"

const (
	// accountSlots slots of accountWidth are the five minutes that a sample is
	// of.
	accountSlots = 60
	accountWidth = 5 * time.Second
)

// account adds shares up over the last five minutes. The zero value is empty.
type account struct {
	slots [accountSlots]struct {
		number int64 // which one, since the epoch
		share  float64
	}
}

// add takes in a share at now.
func (a *account) add(now time.Time, share float64) {
	number := now.UnixNano() / int64(accountWidth)
	s := &a.slots[uint64(number)%accountSlots]
	if s.number != number {
		s.number, s.share = number, 0
	}
	s.share += share
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
