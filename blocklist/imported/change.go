package imported

import (
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// mostNamed is how many changed prefixes are named to Config.Changed: with more, an
// enforcer rather reads the whole list.
const mostNamed = 1000

// change is one call that changes the set, which is locked.
type change struct {
	set      *Set
	now      time.Time
	from     *source
	prefixes []netip.Prefix
	touched  int
	Outcome
}

// Replace makes entries all that a source wants: what is not among them is lifted. Of
// two of the same prefix the one that ends later counts. Entries for which there is no
// room are refused in their order: what is held already stays. Evicting others was
// rejected, because nothing says which entry of a foreign list matters here, and two lists
// over the bound would evict each other at every fetch.
func (s *Set) Replace(name string, entries []Entry, now time.Time) Outcome {
	s.mu.Lock()
	c := s.beginChange(name, now)
	c.from.round++
	c.from.dropped = Refused{}
	fresh := make([]Entry, 0, max(0, len(entries)-len(c.from.rows)))
	for _, e := range entries { // what is known, so that the room of the rest is known
		if _, known := c.from.rows[keyOf(e.Prefix)]; known {
			c.take(e)
		} else {
			fresh = append(fresh, e)
		}
	}
	for k, r := range c.from.rows {
		if r.round != c.from.round {
			c.drop(k, r)
		}
	}
	for _, e := range fresh {
		c.take(e)
	}
	return s.end(&c)
}

// Apply merges changes of what a source wants: add is wanted until its end, and gone not
// any more. A prefix in both is wanted, and blocked without a gap.
func (s *Set) Apply(name string, add []Entry, gone []netip.Prefix, now time.Time) Outcome {
	s.mu.Lock()
	c := s.beginChange(name, now)
	c.from.round++
	stays := make(map[key]bool, len(add))
	for i := range add {
		stays[keyOf(add[i].Prefix)] = true
	}
	for _, p := range gone {
		k := keyOf(p)
		if r, known := c.from.rows[k]; known && !stays[k] {
			c.drop(k, r)
		}
	}
	for _, e := range add {
		c.take(e)
	}
	return s.end(&c)
}

// DropSource lifts all that a source wanted: the config has it no longer.
func (s *Set) DropSource(name string, now time.Time) {
	s.mu.Lock()
	c := s.beginChange(name, now)
	for k, r := range c.from.rows {
		c.drop(k, r)
	}
	s.sources = slices.DeleteFunc(s.sources, func(one *source) bool { return one == c.from })
	s.unlock(&c)
}

func (s *Set) beginChange(name string, now time.Time) change {
	return change{set: s, now: now, from: s.source(name)}
}

func (s *Set) end(c *change) Outcome {
	c.from.taken = c.now
	c.from.dropped.add(c.Refused)
	if len(c.from.rows) == 0 {
		c.from.reasons, c.from.known = []string{""}, map[string]uint16{"": 0}
	}
	c.InForce, c.Protected, c.Allowed = c.from.rowsInForce(), c.from.spared[blocklist.Protected], c.from.spared[blocklist.Allowed]
	s.unlock(c)
	return c.Outcome
}

// named returns the changed prefixes, nil if they are too many to name.
func (c *change) named() []netip.Prefix {
	if c.touched > mostNamed {
		return nil
	}
	return c.prefixes
}

// take merges one entry.
func (c *change) take(e Entry) {
	if !c.accepts(&e) {
		return
	}
	k := keyOf(e.Prefix)
	next := row{until: untilOf(e.Until), reason: c.from.reason(e.Reason), wide: e.Wide, round: c.from.round, spared: c.set.own.Spares(c.now, e.Prefix)}
	old, known := c.from.rows[k]
	switch {
	case known && old.round == c.from.round && old.until >= next.until: // twice in one list
		return
	case known && !old.sameBlock(next):
		c.Extended++
	case !known && c.set.most > 0 && c.set.rows >= c.set.most:
		c.NoRoom++
		return
	case !known:
		c.Added++
		c.set.rows++
	}
	c.from.putRow(k, next)
	if !known || !old.sameBlock(next) {
		c.settlePrefix(k)
	}
}

// accepts reports whether an entry may be kept, and counts one that may not.
func (c *change) accepts(e *Entry) bool {
	p := e.Prefix
	widest := edgeguard.WidestV4
	switch {
	case !p.IsValid(), p.Addr().Is4In6(), p != p.Masked():
		c.Invalid++
		return false
	case p.Addr().Is6() && e.Wide:
		widest = WidestWideV6
	case p.Addr().Is6():
		widest = edgeguard.WidestV6
	case e.Wide:
		widest = WidestWideV4
	}
	switch {
	case p.Bits() < widest:
		c.TooWide++
	case p.Addr().IsUnspecified():
		c.Invalid++
	case !c.now.Before(e.Until):
		c.Refused.Ended++
	default:
		return true
	}
	return false
}

// drop forgets a row.
func (c *change) drop(k key, r row) {
	c.Lifted++
	c.forget(k, r)
}

func (c *change) forget(k key, r row) {
	c.from.remove(k, r)
	c.set.rows--
	c.settlePrefix(k)
}

// trimRows forgets some rows of a source, which there is no room for any more.
func (c *change) trimRows(from *source, most int) {
	c.from = from
	for k, r := range from.rows {
		if most == 0 {
			return
		}
		most--
		from.dropped.NoRoom++
		c.forget(k, r)
	}
}

// settlePrefix makes the block of a prefix what the sources want: that of the row which ends
// last.
func (c *change) settlePrefix(k key) {
	var by *source
	var wins row
	for _, one := range c.set.sources {
		if r, ok := one.rows[k]; ok && r.until > c.now.UnixNano() && (by == nil || r.until > wins.until) {
			by, wins = one, r
		}
	}
	prefix, list := k.prefix(), c.set.list
	if by == nil {
		list.Remove(prefix)
		c.touch(prefix)
		return
	}
	b := edgeguard.Block{Prefix: prefix, Rule: by.rule, Reason: by.reasons[wins.reason], Origin: c.set.node, Since: c.now, Until: wins.endTime()}
	if old := list.BlockOf(c.now, prefix); old != nil {
		if old.Rule == b.Rule && old.Reason == b.Reason && old.Until.Equal(b.Until) {
			return
		}
		b.Since = old.Since
	}
	// Confirm and not Add, where it is wide: the list accepts that from an operator only.
	if wins.wide {
		_, _, _ = list.Confirm(b, c.now)
	} else {
		_, _, _ = list.Add(b, false, c.now)
	}
	c.touch(prefix)
}

func (c *change) touch(p netip.Prefix) {
	if c.touched++; c.touched <= mostNamed {
		c.prefixes = append(c.prefixes, p)
	}
}

// add adds what a call counted of dropped entries.
func (r *Refused) add(more Refused) {
	r.TooWide += more.TooWide
	r.Invalid += more.Invalid
	r.Ended += more.Ended
	r.NoRoom += more.NoRoom
}
