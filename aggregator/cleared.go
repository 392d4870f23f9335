package aggregator

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// cleared holds the cleared-before marks of unblocked prefixes: the first slot
// that counts again. A key that comes back does not push what it counted
// before. Slots are local.
type cleared struct {
	any     atomic.Bool  // false: there are none; read without the lock
	mu      sync.RWMutex // guards slots and lengths
	slots   map[clearedKey]uint32
	lengths []int // of the prefixes in slots
}

type clearedKey struct {
	meter  uint16
	prefix netip.Prefix
}

func (f *cleared) setMark(meter int, prefix netip.Prefix, slot uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots == nil {
		f.slots = make(map[clearedKey]uint32)
	}
	k := clearedKey{uint16(meter), prefix}
	f.slots[k] = max(f.slots[k], slot)
	if !slices.Contains(f.lengths, prefix.Bits()) {
		f.lengths = append(f.lengths, prefix.Bits())
	}
	f.any.Store(true)
}

// takeOver sets the marks of another, of the meters that move.
func (f *cleared) takeOver(old *cleared, move map[uint16]uint16) {
	old.mu.RLock()
	defer old.mu.RUnlock()
	for k, slot := range old.slots {
		if j, ok := move[k.meter]; ok {
			f.setMark(int(j), k.prefix, slot)
		}
	}
}

// markOf returns a key's mark: the highest of the prefixes that contain it.
func (f *cleared) markOf(id suspectID) (slot uint32) {
	if !f.any.Load() {
		return 0
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	key := id.prefix()
	for _, bits := range f.lengths {
		if bits <= key.Bits() {
			p, _ := key.Addr().Prefix(bits)
			slot = max(slot, f.slots[clearedKey{id.meter, p}])
		}
	}
	return slot
}

// sweep drops the marks below every slot that a peak may still count; now
// returns the current slot of a meter.
func (f *cleared) sweep(now func(meter uint16) uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.slots, func(k clearedKey, slot uint32) bool { return slot+Kept <= now(k.meter) })
	f.lengths = f.lengths[:0]
	for k := range f.slots {
		if !slices.Contains(f.lengths, k.prefix.Bits()) {
			f.lengths = append(f.lengths, k.prefix.Bits())
		}
	}
	f.any.Store(len(f.slots) > 0)
}

// len returns how many marks there are.
func (f *cleared) len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.slots)
}
