package detector

import "net/netip"

const (
	// dominanceSpan is the seconds over which one address's share is taken.
	dominanceSpan = 60
	// leastSampled is how many samples a span must have for a share to say
	// something: about a thousand requests. The one visitor of a quiet site is
	// no news.
	leastSampled = 128
)

// dominance finds, among the addresses of one crowd, the one that may have
// more than half of all requests: the majority vote of Boyer and Moore (1981),
// over a sample. Every address is in one crowd, and an address with more than
// half of everything has more than half of its crowd too. It is guarded by its
// crowd's lock.
type dominance struct {
	span           uint32 // number of the current one
	current, ended ballot
}

// ballot is one span's vote.
type ballot struct {
	addr  netip.Addr // who leads
	votes uint32     // by how much
	cast  uint32     // votes in all
	seen  uint32     // requests sampled, those of spared addresses too, which have no vote
}

// most is how many of the votes can have been the leader's: exactly how many
// there were if it led from the beginning.
func (b *ballot) most() uint64 { return (uint64(b.cast) + uint64(b.votes)) / 2 }

// noteRequests notes sampled requests of one address.
func (m *dominance) noteRequests(span uint32, addr netip.Addr, spared bool, requests uint32) {
	if span > m.span {
		m.ended = m.at(span)
		m.current, m.span = ballot{}, span
	}
	b := &m.current
	b.seen = addSaturating(b.seen, requests)
	if spared {
		return
	}
	b.cast = addSaturating(b.cast, requests)
	switch {
	case b.addr == addr:
		b.votes = addSaturating(b.votes, requests)
	case b.votes < requests:
		b.addr, b.votes = addr, requests-b.votes
	default:
		b.votes -= requests
	}
}

// at returns the ballot of the span before span.
func (m *dominance) at(span uint32) ballot {
	switch {
	case span <= m.span:
		return m.ended
	case span == m.span+1:
		return m.current
	}
	return ballot{}
}

// Dominant reports whether one address sent more than half of all requests in the
// last whole minute before the second now, and its share. Requests of allowed and protected
// addresses count in the total, and such an address is never returned. The share
// is taken from a sample of one request in eight and may be a few hundredths off;
// ok is false for a minute with less than about a thousand requests.
func (s *crowds) Dominant(now uint32) (addr netip.Addr, share float64, ok bool) {
	span := now / dominanceSpan
	var seen, most uint64
	for i := range s.all {
		c := &s.all[i]
		c.mu.Lock()
		b := c.majority.at(span)
		c.mu.Unlock()
		seen += uint64(b.seen)
		if n := b.most(); n > most {
			addr, most = b.addr, n
		}
	}
	if seen < leastSampled || 2*most <= seen {
		return netip.Addr{}, 0, false
	}
	return addr, float64(most) / float64(seen), true
}
