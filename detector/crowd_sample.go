package detector

import (
	"net/netip"
	"slices"
)

// Sample is an estimate of who sent the requests of the last five minutes: a share
// is a share of the requests, not of the clients. It does not change and is safe
// for concurrent use.
//
// One request in eight is sampled, and of those at most four addresses are kept
// of each 5 seconds and 64th of all addresses. The standard error of a share p
// is sqrt(p(1-p)/n): 3.5 hundredths for a fifth of the least traffic that says
// anything (128 sampled, about a thousand requests), under half a hundredth for
// a fifth of many clients' traffic on a busy node (15,360 kept), and 3 at most
// where all traffic is of one 64th (240 kept). With less traffic all shares are 0.
type Sample struct {
	total   float64 // requests sampled, those of spared addresses too
	senders []sender
}

// sender is one address, and how many of the sampled requests it represents.
type sender struct {
	addr   netip.Addr
	weight float64
}

// Sample returns who sent the requests of the last five minutes before the second
// now. It takes a millisecond or two on a busy node: to ask about many prefixes, ask
// one sample.
func (s *crowds) Sample(now uint32) *Sample {
	out := &Sample{}
	last := now / recentWidth
	for i := range s.all {
		c := &s.all[i]
		c.mu.Lock()
		if c.recent != nil {
			out.add(c.recent, last)
		}
		c.mu.Unlock()
	}
	slices.SortFunc(out.senders, func(a, b sender) int { return a.addr.Compare(b.addr) })
	out.merge()
	return out
}

// add adds the slots up to the last.
func (s *Sample) add(r *recent, last uint32) {
	for i := range r.slots {
		slot := &r.slots[i]
		if slot.number > last || last-slot.number >= recentSlots {
			continue
		}
		s.total += float64(slot.seen)
		kept := slot.kept()
		for _, from := range slot.from[:kept] {
			s.senders = append(s.senders, sender{netip.AddrFrom16(from).Unmap(), float64(slot.asked) / float64(kept)})
		}
	}
}

// merge joins the senders of one address.
func (s *Sample) merge() {
	merged := s.senders[:0]
	for _, one := range s.senders {
		if n := len(merged); n > 0 && merged[n-1].addr == one.addr {
			merged[n-1].weight += one.weight
			continue
		}
		merged = append(merged, one)
	}
	s.senders = merged
}

// Enough reports whether there were enough requests to say anything.
func (s *Sample) Enough() bool { return s.total >= leastSampled }

// Share returns the part of the requests that came from the addresses in prefix
// for which counts is true; 0 if there were too few to say.
func (s *Sample) Share(prefix netip.Prefix, counts func(netip.Addr) bool) float64 {
	if !s.Enough() || !prefix.IsValid() {
		return 0
	}
	first, _ := slices.BinarySearchFunc(s.senders, prefix.Masked().Addr(), func(one sender, addr netip.Addr) int {
		return one.addr.Compare(addr)
	})
	sum := 0.0
	for _, one := range s.senders[first:] {
		if !prefix.Contains(one.addr) {
			break
		}
		if counts(one.addr) {
			sum += one.weight
		}
	}
	return sum / s.total
}

// ShareOf returns the Share of all addresses.
func (s *Sample) ShareOf(counts func(netip.Addr) bool) float64 {
	v4 := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	v6 := netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	return s.Share(v4, counts) + s.Share(v6, counts)
}
