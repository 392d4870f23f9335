package checks

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/ring"
	"edgeguard/rules"
)

const (
	// maxUnseen is how many addresses are tracked for uncounted requests.
	maxUnseen = 64
	// leastUnseen is the lowest limit that uncounted requests are compared with:
	// with a trap's limit of one, every broken line would be an alarm.
	leastUnseen = 10
	// longestUnseen bounds the window.
	longestUnseen = time.Hour
)

// bound is what an address's uncounted requests are compared with: the lowest
// limit of a rule for requests, with its window and key. The zero value is that
// of a config without such a rule.
type bound struct {
	limit  uint32
	width  uint32 // seconds per slot
	v4, v6 uint8  // prefix lengths
}

// boundOf returns the bound of a config's rules. Of equal limits, that with the
// longer window is the stricter one.
func boundOf(set *rules.Set) bound {
	var b bound
	for i := range set.Rules {
		r := &set.Rules[i]
		m := &set.Meters[r.Meter]
		if m.Kind&(edgeguard.KindRequest|edgeguard.KindResponse) == 0 || m.Everybody {
			continue
		}
		limit := max(r.Limit, leastUnseen)
		width := min(m.Width, uint32(longestUnseen/time.Second/ring.Slots))
		if b.limit == 0 || limit < b.limit || limit == b.limit && width > b.width {
			b = bound{limit: limit, width: width, v4: m.V4, v6: m.V6}
		}
	}
	return b
}

// window is the span that the bound counts in.
func (b bound) window() time.Duration { return time.Duration(b.width) * ring.Slots * time.Second }

// prefix returns what an address is tracked under.
func (b bound) prefix(addr netip.Addr) netip.Prefix {
	bits := b.v6
	if addr.Is4() {
		bits = b.v4
	}
	p, _ := addr.Prefix(int(bits))
	return p
}

// unseen finds the addresses that make more uncounted requests in a window than
// the bound. It tracks at most maxUnseen of them, by the Space-Saving algorithm:
// when all places are taken, a new address replaces the one with the lowest
// weight, and the place keeps that weight. To push an address out by rotating
// others takes maxUnseen requests for each hidden one, and the total shows that
// crowd. It is not safe for concurrent use; the zero value tracks nothing.
type unseen struct {
	bound  bound
	total  ring.Ring // of all, also those of unknown addresses
	places []place
}

// place is what one address is tracked in.
type place struct {
	prefix netip.Prefix
	counts ring.Ring // its own requests since it took the place
	reason edgeguard.Reason
	// inherited is the weight of the addresses before it, which lost the place at
	// slot since.
	inherited, since uint32
}

// weight returns an upper bound of what the prefix made in the window.
func (p *place) weight(slot uint32) uint32 {
	w := p.counts.Count(slot)
	if slot-min(slot, p.since) < ring.Slots {
		w += p.inherited
	}
	return w
}

// goBy sets the bound; if it is another, the counts begin again.
func (u *unseen) goBy(b bound) {
	if u.bound != b {
		*u = unseen{bound: b, places: u.places[:0]}
	}
}

// slot returns the number of an instant's slot.
func (u *unseen) slot(at time.Time) uint32 { return uint32(max(at.Unix(), 0) / int64(u.bound.width)) }

// add counts one request.
func (u *unseen) add(now time.Time, r *edgeguard.Uncounted) {
	if u.bound.limit == 0 {
		return
	}
	at := u.slot(now)
	slot := at
	if !r.Time.IsZero() {
		slot = u.slot(r.Time)
	}
	if _, inWindow := u.total.Add(at, slot, 1); !inWindow || !r.Addr.IsValid() {
		return
	}
	p := u.placeOf(u.bound.prefix(r.Addr), at)
	p.counts.Add(at, slot, 1)
	p.reason = r.Reason
}

// placeOf returns the place of a prefix, and makes one.
func (u *unseen) placeOf(prefix netip.Prefix, slot uint32) *place {
	least, lightest := 0, uint32(0)
	for i := range u.places {
		p := &u.places[i]
		if p.prefix == prefix {
			return p
		}
		if w := p.weight(slot); i == 0 || w < lightest {
			least, lightest = i, w
		}
	}
	if len(u.places) < maxUnseen {
		u.places = append(u.places, place{prefix: prefix, since: slot})
		return &u.places[len(u.places)-1]
	}
	u.places[least] = place{prefix: prefix, inherited: lightest, since: slot}
	return &u.places[least]
}

// offender is a prefix whose uncounted requests are over the bound.
type offender struct {
	prefix netip.Prefix
	count  uint32
	reason edgeguard.Reason // of the last
}

// over returns the prefixes over the bound, the greatest count first.
func (u *unseen) over(now time.Time) []offender {
	if u.bound.limit == 0 {
		return nil
	}
	var out []offender
	slot := u.slot(now)
	for i := range u.places {
		p := &u.places[i]
		if n := p.counts.Count(slot); n > u.bound.limit {
			out = append(out, offender{p.prefix, n, p.reason})
		}
	}
	slices.SortFunc(out, func(a, b offender) int {
		return cmp.Or(cmp.Compare(b.count, a.count), a.prefix.Compare(b.prefix))
	})
	return out
}

// crowd returns how many requests all addresses made, and whether they are so
// many that an address over the bound may hide among them.
func (u *unseen) crowd(now time.Time) (total uint32, yes bool) {
	if u.bound.limit == 0 {
		return 0, false
	}
	total = u.total.Count(u.slot(now))
	// A slot holds no more than ring.Max.
	return total, total >= min(maxUnseen*u.bound.limit, ring.Max)
}
