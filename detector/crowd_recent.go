package detector

import "net/netip"

const (
	// recentSlots slots of recentWidth seconds are the last five minutes.
	recentSlots, recentWidth = 60, 5
	// recentPlaces is one more, and a prime: what comes every five minutes, as a program
	// that asks does, would else always replace itself.
	recentPlaces = 61
	// recentKept is how many addresses a slot of one crowd keeps. The slots of
	// all crowds keep 15,360 in a quarter of a megabyte.
	recentKept = 4
)

// recent keeps addresses of one crowd's requests of the last five minutes: of
// each slot an even choice, and of how many they were chosen. A slot stays until a later
// one needs its place, so that little traffic leaves what is older. The zero value is
// empty. It is guarded by its crowd's lock.
type recent struct {
	slots [recentPlaces]recentSlot
	drawn uint64 // how often an address had to be chosen
}

// recentSlot is the requests sampled in one slot.
type recentSlot struct {
	number uint32 // which one, since the epoch
	asked  uint32 // some are in from
	from   [recentKept][16]byte
}

// noteRequests notes sampled requests of one address in a slot. Those whose slot is no longer
// kept are late and left out.
func (r *recent) noteRequests(slot uint32, addr netip.Addr, requests uint32) {
	s := &r.slots[slot%recentPlaces]
	switch {
	case s.number > slot:
		return
	case s.number < slot:
		*s = recentSlot{number: slot}
	}
	for range min(requests, recentKept) {
		r.choose(s, addr)
	}
	if requests > recentKept {
		r.chooseMany(s, addr, requests-recentKept)
	}
}

// choose keeps an address or not, by Algorithm R (Vitter, Random Sampling with a
// Reservoir, 1985). What it draws is a hash of a running count: a pure package has no
// generator, and no client gains by knowing which of its requests is kept.
func (r *recent) choose(s *recentSlot, addr netip.Addr) {
	place := uint64(s.asked)
	s.asked = addSaturating(s.asked, 1)
	if place >= recentKept {
		r.drawn++
		place = mix(r.drawn) % uint64(s.asked)
	}
	if place < recentKept {
		s.from[place] = addr.As16()
	}
}

// chooseMany is choose for many requests of one address, where all places are taken:
// each place becomes the address's with the chance that the last of all that were
// asked is one of them.
func (r *recent) chooseMany(s *recentSlot, addr netip.Addr, requests uint32) {
	s.asked = addSaturating(s.asked, requests)
	for place := range s.from {
		r.drawn++
		if mix(r.drawn)%uint64(s.asked) < uint64(requests) {
			s.from[place] = addr.As16()
		}
	}
}

// keptSources is how many of from are set.
func (s *recentSlot) keptSources() uint32 { return min(s.asked, recentKept) }

// mix makes a running count look drawn (splitmix64, Steele and others, 2014).
func mix(n uint64) uint64 {
	n *= 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
