package imported

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/blocklist/width"
)

// key is a prefix without a pointer, so that the garbage collector does not look at the
// entries of a source. An IPv4 prefix is in its mapped form.
type key struct {
	hi, lo uint64
	bits   uint8
}

const mapped = 96

func keyOf(p netip.Prefix) key {
	b, bits := p.Addr().As16(), p.Bits()
	if p.Addr().Is4() {
		bits += mapped
	}
	return key{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]), uint8(bits)}
}

func (k key) prefix() netip.Prefix {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], k.hi)
	binary.BigEndian.PutUint64(b[8:], k.lo)
	addr, bits := netip.AddrFrom16(b), int(k.bits)
	if addr.Is4In6() && bits >= mapped {
		addr, bits = addr.Unmap(), bits-mapped
	}
	return netip.PrefixFrom(addr, bits)
}

// row is what a source wants for a prefix.
type row struct {
	until  int64 // in nanoseconds since 1970
	reason uint16
	wide   bool
	spared blocklist.Standing // Allowed or Protected when it came; else None
	round  uint32             // of the Replace that brought it
}

// sameBlock reports whether two rows make the same block.
func (r row) sameBlock(other row) bool {
	return r.until == other.until && r.reason == other.reason && r.wide == other.wide
}

func (r row) endTime() time.Time { return time.Unix(0, r.until).UTC() }

// latest is the last instant that a row can end at, in the year 2262.
const latest = math.MaxInt64

func untilOf(t time.Time) int64 {
	if t.After(time.Unix(0, latest)) {
		return latest
	}
	return t.UnixNano()
}

// source is what one source wants.
type source struct {
	name    string
	rule    string
	rows    map[key]row
	round   uint32
	soonest int64 // no row ends before
	// reasons holds each reason once, the first being none; known has their places.
	reasons []string
	known   map[string]uint16
	spared  [blocklist.Peer + 1]int // rows by why they sleep
	union   width.Union             // of all rows
	dropped Refused                 // since the last Replace, that included
	taken   time.Time
}

// mostReasons bounds the reasons that one source's entries have. A list has a few
// hundred at most; entries beyond have none.
const mostReasons = 1024

func newSource(name string) *source {
	return &source{
		name: name, rule: edgeguard.OwnerRule(name), rows: make(map[key]row), soonest: latest,
		reasons: []string{""}, known: map[string]uint16{"": 0},
	}
}

// source returns that of a name. It needs the lock.
func (s *Set) source(name string) *source {
	at, found := slices.BinarySearchFunc(s.sources, name, func(one *source, name string) int { return cmp.Compare(one.name, name) })
	if !found {
		s.sources = slices.Insert(s.sources, at, newSource(name))
	}
	return s.sources[at]
}

// reason returns the place of a text among the reasons.
func (o *source) reason(text string) uint16 {
	at, ok := o.known[text]
	if !ok && len(o.reasons) < mostReasons {
		at = uint16(len(o.reasons))
		o.reasons, o.known[text] = append(o.reasons, text), at
	}
	return at
}

// putRow sets a row.
func (o *source) putRow(k key, r row) {
	if old, ok := o.rows[k]; ok {
		o.spared[old.spared]--
	} else {
		o.union.Add(k.prefix())
	}
	o.spared[r.spared]++
	o.rows[k] = r
	o.soonest = min(o.soonest, r.until)
}

func (o *source) remove(k key, r row) {
	o.spared[r.spared]--
	o.union.Remove(k.prefix())
	delete(o.rows, k)
}

// sweep forgets the rows that have ended, and returns how many.
func (o *source) sweep(now time.Time) (ended int) {
	if at := now.UnixNano(); at >= o.soonest {
		o.soonest = latest
		for k, r := range o.rows {
			if r.until <= at {
				o.remove(k, r)
				ended++
			} else {
				o.soonest = min(o.soonest, r.until)
			}
		}
	}
	return ended
}

// rowsInForce is how many rows may apply.
func (o *source) rowsInForce() int { return o.spared[blocklist.None] }

// SourceStats is the state of one source.
type SourceStats struct {
	Source  string
	InForce int       // entries that may apply
	Refused           // of the last whole list and the changes since it
	Taken   time.Time // when the source last replaced or changed its entries
	Width   width.Width
}

func (o *source) stats() SourceStats {
	s := SourceStats{Source: o.name, InForce: o.rowsInForce(), Refused: o.dropped, Taken: o.taken, Width: o.union.Width()}
	s.Protected, s.Allowed = o.spared[blocklist.Protected], o.spared[blocklist.Allowed]
	return s
}

// Stats returns the state of every source, by name.
func (s *Set) Stats() []SourceStats {
	if s == nil {
		return nil
	}
	if all := s.stats.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}

// Room returns how many more entries there is room for: a source that had too many may
// bring its list again.
func (s *Set) Room() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most == 0 {
		return math.MaxInt
	}
	return max(0, s.most-s.rows)
}

// Has reports whether a name is that of a source.
func (s *Set) Has(source string) bool {
	return slices.ContainsFunc(s.Stats(), func(one SourceStats) bool { return one.Source == source })
}
