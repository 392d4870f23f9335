package detector

import (
	"cmp"
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
	total   float64 // requests sampled
	least   float64 // of them, for a share to say something
	senders []sender
}

// sender is one address, and how many of the sampled requests it represents.
type sender struct {
	addr   netip.Addr
	weight float64
}

const (
	// longestSlots are the slots of a day, and fewSampled the samples of about a hundred
	// requests: see LongSample.
	longestSlots = 24 * 60 * 60 / recentWidth
	fewSampled   = 100>>sampleBits + 1
)

// Sample returns who sent the requests of the last five minutes before the second
// now. It takes a millisecond or two on a busy node: to ask about many prefixes, ask
// one sample.
func (s *crowds) Sample(now uint32) *Sample {
	out := &Sample{least: leastSampled}
	out.addAll(s.slots(now/recentWidth, recentSlots))
	return out
}

// LongSample returns what Sample does if that is enough, else a sample of about the last
// thousand requests, at most of a day. A hundred are then enough: of a fifth of them the standard error is 12
// hundredths, which tells a network of most clients from one of few.
func (s *crowds) LongSample(now uint32) *Sample {
	if out := s.Sample(now); out.Enough() {
		return out
	}
	slots := s.slots(now/recentWidth, longestSlots)
	slices.SortFunc(slots, func(a, b recentSlot) int { return cmp.Compare(b.number, a.number) })
	seen, last := uint32(0), 0
	for last < len(slots) && seen < leastSampled {
		seen = addSaturating(seen, slots[last].asked)
		last++
	}
	out := &Sample{least: fewSampled}
	out.addAll(slots[:last])
	return out
}

// slots returns the last slots of all crowds before and with one.
func (s *crowds) slots(last, most uint32) (out []recentSlot) {
	for i := range s.all {
		c := &s.all[i]
		c.mu.Lock()
		if c.recent != nil {
			for _, slot := range c.recent.slots {
				if slot.asked > 0 && slot.number <= last && last-slot.number < most {
					out = append(out, slot)
				}
			}
		}
		c.mu.Unlock()
	}
	return out
}

func (s *Sample) addAll(slots []recentSlot) {
	for i := range slots {
		slot := &slots[i]
		s.total += float64(slot.asked)
		kept := slot.keptSources()
		for _, from := range slot.from[:kept] {
			s.senders = append(s.senders, sender{netip.AddrFrom16(from).Unmap(), float64(slot.asked) / float64(kept)})
		}
	}
	slices.SortFunc(s.senders, func(a, b sender) int { return a.addr.Compare(b.addr) })
	s.merge()
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
func (s *Sample) Enough() bool { return s.total >= s.least }

// Recent reports whether it is of the last five minutes.
func (s *Sample) Recent() bool { return s.least == leastSampled }

// Senders calls a function with each address of the sample, and its share of the
// requests; with none if there were too few to say.
func (s *Sample) Senders(each func(addr netip.Addr, share float64)) {
	if !s.Enough() {
		return
	}
	for _, one := range s.senders {
		each(one.addr, one.weight/s.total)
	}
}

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
