package names

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"edgeguard/enforce"
)

// A prefix of at most 256 names is written as its names: IPv4 /24 to /32, IPv6 /56 to /64.
const widestV4, widestV6, nameV6 = 24, 56, 64

// Fits reports whether a prefix can be names. Proxies write IPv6 addresses that begin with
// 16 zero bits in several ways, so none of these can.
func Fits(p netip.Prefix) bool {
	if p.Addr().Is4() {
		return p.Bits() >= widestV4
	}
	return p.Bits() >= widestV6 && p.Bits() <= nameV6 && nameOf(p.Addr())>>48 != 0
}

// name is an IPv4 address, or the first half of an IPv6 one that Fits: never the same
// number.
type name uint64

func nameOf(a netip.Addr) name {
	if a.Is4() {
		four := a.As4()
		return name(binary.BigEndian.Uint32(four[:]))
	}
	all := a.As16()
	return name(binary.BigEndian.Uint64(all[:8]))
}

// String returns the file's name: 203.0.113.7, or of IPv6 the four groups of a /64 as
// 2001:db8:0:1::, no group left out.
func (n name) String() string {
	if n>>48 == 0 {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(n)))).String()
	}
	return fmt.Sprintf("%x:%x:%x:%x::", uint16(n>>48), uint16(n>>32), uint16(n>>16), uint16(n))
}

// parseName reads what String writes, and nothing else.
func parseName(text string) (n name, ok bool) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return 0, false
	}
	n = nameOf(a)
	return n, n.String() == text
}

// size is how many names a prefix has that Fits. They are neighbours.
func size(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 1 << (32 - p.Bits())
	}
	return 1 << (nameV6 - p.Bits())
}

// counts knows which names are to be there: those with an owner, a prefix in force that has
// them. At most nine prefixes of different lengths own a name.
type counts struct {
	most   int
	set    map[netip.Prefix]time.Time
	owners map[name]uint8
	left   map[netip.Prefix]struct{} // for which there was no room
	moved  bool                      // left is not what was told
	ends   enforce.Ends
}

func newCounts(most, room int) counts {
	return counts{most: most, set: make(map[netip.Prefix]time.Time, room), owners: make(map[name]uint8, room), left: make(map[netip.Prefix]struct{})}
}

// replace makes entries all that is in force, where nothing is. Single names come first, so that a wide list
// of others takes no room from them.
func (c *counts) replace(entries []enforce.Entry) {
	var fresh []name // is compared with the folder
	for _, single := range []bool{true, false} {
		for _, e := range entries {
			if Fits(e.Prefix) && (size(e.Prefix) == 1) == single {
				fresh, _ = c.put(fresh[:0], e)
			}
		}
	}
	c.ends.Fill(c.set)
}

// add puts an entry in force, and the names that have their first owner at the end of fresh.
func (c *counts) add(fresh []name, e enforce.Entry) []name {
	fresh, in := c.put(fresh, e)
	if in {
		c.ends.PushEnd(e.Until, e.Prefix)
		c.ends.Rebuild(c.set)
	}
	return fresh
}

// put is add without the end. It reports whether there was room.
func (c *counts) put(fresh []name, e enforce.Entry) (_ []name, in bool) {
	_, known := c.set[e.Prefix]
	if !known && len(c.owners)+size(e.Prefix) > c.most {
		_, before := c.left[e.Prefix]
		c.left[e.Prefix], c.moved = struct{}{}, c.moved || !before
		return fresh, false
	}
	c.fits(e.Prefix)
	c.set[e.Prefix] = e.Until
	if known {
		return fresh, true
	}
	first := nameOf(e.Prefix.Addr())
	for i := range name(size(e.Prefix)) {
		if c.owners[first+i]++; c.owners[first+i] == 1 {
			fresh = append(fresh, first+i)
		}
	}
	return fresh, true
}

// remove is the opposite of add: it puts the names that have lost their last owner at the
// end of gone.
func (c *counts) remove(gone []name, p netip.Prefix) []name {
	if _, known := c.set[p]; !known {
		c.fits(p)
		return gone
	}
	delete(c.set, p)
	first := nameOf(p.Addr())
	for i := range name(size(p)) {
		if c.owners[first+i]--; c.owners[first+i] == 0 {
			delete(c.owners, first+i)
			gone = append(gone, first+i)
		}
	}
	return gone
}

// fits forgets that there was no room for a prefix.
func (c *counts) fits(p netip.Prefix) {
	if _, left := c.left[p]; left {
		delete(c.left, p)
		c.moved = true
	}
}

// expire removes what is over at now, and returns the names that are to go.
func (c *counts) expire(now time.Time) (gone []name) {
	for {
		p, until, ok := c.ends.PopOver(now)
		if !ok {
			return gone
		}
		if at, known := c.set[p]; known && at.Equal(until) {
			gone = c.remove(gone, p)
		}
	}
}
