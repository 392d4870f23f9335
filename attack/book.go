package attack

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

const (
	// Memory is how far back crossings decide of the rows of now: half a day up to a midnight, a day
	// in which others join, and a day in which these go on.
	Memory = 2*day + halfDay + longestBlock + quiet
	// Fresh is how old the last crossing of an attack may be that is news.
	Fresh = 2 * time.Minute
	// keep is how long a row is kept that has ended.
	keep = day
	// mostRuns and mostRows bound a book, some 300 bytes each; mostMembers is what a group has
	// left when there are too many.
	mostRuns, mostRows, mostMembers = 16_384, 1_000, 1_024
	// mostKeys bounds the keys without an address among them, which a client can make as many as it likes.
	mostKeys = 128
)

// run is the crossings of a place on one day that belong together. Its times are seconds.
type run struct {
	first, last, reach int64
	stands             int64     // when the last of its blocks ends
	left               uint32    // members of its group that found no room
	kinds, heard       Outcome   // of this node's crossings, and of those that others told of
	told               bool      // somebody was told of its attack
	mine               bool      // one of its crossings is this node's, and something is refused of it
	toldMine           bool      // somebody was told of its attack when that was so
	blocks             uint32    // in force
	hosts              [4]uint64 // a bit for each host of an IPv4 /24; of wider ones for some together
	refused, standing  uint64    // by blocks that have ended, and by those in force
	refusedAt          int64     // when the last was
	elsewhere          uint64    // refused by other nodes
	networks           uint32    // that another node knows of its group
	crowd              *crowding // of a key without an address
}

// meet reports whether two runs belong together.
func (r *run) meet(o *run) bool {
	return dayOf(r.first) == dayOf(o.first) && o.first <= r.reach && r.first <= o.reach
}

// join makes r both.
func (r *run) join(o *run) {
	r.first, r.last, r.reach = min(r.first, o.first), max(r.last, o.last), max(r.reach, o.reach)
	r.stands, r.refusedAt = max(r.stands, o.stands), max(r.refusedAt, o.refusedAt)
	r.left, r.kinds, r.heard = r.left+o.left, r.kinds|o.kinds, r.heard|o.heard
	r.elsewhere, r.networks = r.elsewhere+o.elsewhere, max(r.networks, o.networks)
	r.told, r.mine, r.toldMine = r.told || o.told, r.mine || o.mine, r.toldMine || o.toldMine
	r.refused, r.standing, r.blocks = r.refused+o.refused, r.standing+o.standing, r.blocks+o.blocks
	for i := range r.hosts {
		r.hosts[i] |= o.hosts[i]
	}
	r.crowd = r.crowd.join(o.crowd)
}

// Book keeps crossings, and has the attacks of them at any time. It is one goroutine's.
type Book struct {
	runs  map[place][]*run // by their times
	count int              // of runs
	keys  int              // places in runs that are keys without an address
	rows  []*Row           // nil when they have to be made again
}

// Add adds a crossing. Of one that is known nothing changes.
func (b *Book) Add(c *Crossing) {
	if b.runs == nil {
		b.runs = make(map[place][]*run)
	}
	at := placeOf(c)
	if !at.everybody && !at.network.IsValid() {
		return
	}
	second := c.Time.Unix()
	added := &run{first: second, last: second, reach: c.reach(), stands: c.Until.Unix(), kinds: c.Kind, told: c.Told}
	added.mine = c.Here && c.Kind&(Blocked|Denied) != 0
	added.toldMine = added.mine && c.Told
	if c.heard {
		added.kinds, added.heard = 0, c.Kind
	}
	if host := hostOf(c.Key); at.everybody {
		added.crowd = &crowding{with: c.With, most: c.Count, limit: c.Limit}
	} else {
		added.hosts[host/64] |= 1 << (host % 64)
	}
	all := b.runs[at]
	b.count -= len(all)
	if at.everybody && len(all) == 0 {
		b.keys++
	}
	kept := all[:0]
	for _, r := range all {
		if r.meet(added) {
			added.join(r)
		} else {
			kept = append(kept, r)
		}
	}
	i, _ := slices.BinarySearchFunc(kept, added.first, func(r *run, first int64) int { return cmp.Compare(r.first, first) })
	all = slices.Insert(kept, i, added)
	b.runs[at], b.rows = all, nil
	b.count += len(all)
	if b.keys > mostKeys {
		b.leaveLeast(c.Time)
	}
	if b.count > mostRuns {
		b.shrink(c.Time)
	}
}

// hostOf returns which of 256 hosts of its network a key is.
func hostOf(key netip.Prefix) (host uint8) {
	bytes := key.Addr().As16()
	if key.Addr().Is4() {
		return bytes[15]
	}
	for _, b := range bytes[6:8] { // the /64 of a /48
		host = host*31 + b
	}
	return host
}

// Ended adds what a block of a rule refused that has ended.
func (b *Book) Ended(rule string, prefix netip.Prefix, since time.Time, refused uint64) {
	if r := b.runAt(place{rule: rule, network: NetworkOf(prefix)}, since.Unix()); r != nil && refused > 0 {
		r.refused += refused
		r.standing -= min(r.standing, refused)
		b.rows = nil
	}
}

// runAt returns the run of a place that a second lies in, or the last one before it.
func (b *Book) runAt(at place, second int64) (found *run) {
	for _, r := range b.runs[at] {
		if found == nil || r.first <= second {
			found = r
		}
	}
	return found
}

// Standing is what a block in force refused.
type Standing struct {
	Rule    string
	Prefix  netip.Prefix
	Since   time.Time
	Refused uint64
	Last    time.Time // zero if it refused nothing
}

// Look notes what the blocks in force refused: inside passes on those in a network.
func (b *Book) Look(now time.Time, inside func(netip.Prefix, func(Standing))) {
	networks := make(map[netip.Prefix]bool)
	for at, all := range b.runs {
		for _, r := range all {
			r.standing, r.blocks = 0, 0
			if r.stands >= now.Unix() {
				networks[at.network] = true
			}
		}
	}
	for network := range networks {
		inside(network, func(s Standing) {
			if r := b.runAt(place{rule: s.Rule, network: NetworkOf(s.Prefix)}, s.Since.Unix()); r != nil && NetworkOf(s.Prefix) == network {
				r.standing, r.blocks = r.standing+s.Refused, r.blocks+1
				if s.Refused > 0 {
					r.refusedAt = max(r.refusedAt, s.Last.Unix())
				}
			}
		})
	}
	b.rows = nil
}

// Rows returns the attacks that the book knows, those that go on first, and then those that refused
// most. They are the book's own until its next change.
func (b *Book) Rows(now time.Time) []*Row {
	if b.rows == nil {
		b.rows = rowsOf(b.spans())
		if len(b.rows) > mostRows {
			b.shrink(now)
			b.rows = rowsOf(b.spans())
		}
	}
	slices.SortFunc(b.rows, func(x, y *Row) int {
		return cmp.Or(-compareBool(x.GoesOn(now), y.GoesOn(now)), cmp.Compare(y.Refused, x.Refused), cmp.Compare(y.last, x.last), cmp.Compare(x.ID, y.ID))
	})
	return b.rows
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// Find returns the attack that a first crossing became part of; nil if none is known.
func (b *Book) Find(now time.Time, id string) *Row {
	at, first, ok := parseID(id)
	if !ok {
		return nil
	}
	wanted := b.runAt(at, first)
	if wanted == nil || wanted.first > first || first > wanted.reach {
		return nil
	}
	for _, row := range b.Rows(now) {
		for i := range row.spans {
			if slices.Contains(row.spans[i].runs, wanted) {
				return row
			}
		}
	}
	return nil
}

// News returns the attacks that nobody was told of and of which something is refused, those that began
// earlier first, and has them told. What joins an attack that was told is no news, and neither is what last crossed
// before since. But a group of other nodes' blocks alone, which only they told, is news once this node
// joins it: one node can not have the attacks on the others be part of what it began.
func (b *Book) News(now, since time.Time) (all []*Row) {
	for _, row := range b.Rows(now) {
		isNews := row.isNews()
		if isNews && row.crossed >= since.Unix() {
			all = append(all, row)
		}
		if row.told = row.told || isNews; !row.told {
			continue
		}
		row.toldMine = row.mine
		for i := range row.spans {
			for _, r := range row.spans[i].runs {
				r.told, r.toldMine = true, r.mine
			}
		}
	}
	slices.SortFunc(all, func(x, y *Row) int { return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.ID, y.ID)) })
	return all
}

// isNews reports whether something is refused of a row that nobody was told of, or of a group that nobody was
// told of when this node was in it.
// What everybody does together is none: it has no block, and no address.
func (r *Row) isNews() bool {
	return !r.Everybody && r.own&(Blocked|Denied) != 0 && (!r.told || r.Joined)
}

// Blocks returns what reports whether a block belongs to an attack, until the book's next change.
func (b *Book) Blocks(of *Row) (has func(rule string, prefix netip.Prefix, since time.Time) bool) {
	runs := make(map[*run]bool)
	for i := range of.spans {
		for _, r := range of.spans[i].runs {
			runs[r] = true
		}
	}
	return func(rule string, prefix netip.Prefix, since time.Time) bool {
		return runs[b.runAt(place{rule: rule, network: NetworkOf(prefix)}, since.Unix())]
	}
}

// Forget removes what ended long ago.
func (b *Book) Forget(now time.Time) {
	for _, row := range b.Rows(now) {
		if !row.GoesOn(now.Add(-keep)) && row.reach < now.Add(-keep).Unix() {
			b.remove(row.spans)
		}
	}
}

// shrink makes room. Rows that only other nodes tell of leave first, and those that have ended; of the others those that
// somebody was told of leave before those that are news, and then those that refused least here. Of a group with many
// members, those that refused least leave before.
func (b *Book) shrink(now time.Time) {
	rows := rowsOf(b.spans())
	slices.SortFunc(rows, func(x, y *Row) int {
		return cmp.Or(compareBool(x.own != 0, y.own != 0), compareBool(x.isNews(), y.isNews()), compareBool(x.GoesOn(now), y.GoesOn(now)), cmp.Compare(x.here, y.here), cmp.Compare(x.last, y.last), cmp.Compare(x.ID, y.ID))
	})
	n := len(rows)
	leave := func(even bool) {
		for _, row := range rows {
			if n <= mostRows*7/8 && b.count <= mostRuns*3/4 {
				return
			}
			if len(row.spans) > 0 && (even || row.own == 0 || !row.GoesOn(now)) {
				b.remove(row.spans)
				row.spans = nil
				n--
			}
		}
	}
	leave(false)
	for _, row := range rows {
		if b.count > mostRuns*3/4 && len(row.spans) > mostMembers {
			row.trim(b)
		}
	}
	leave(true)
}

// trim removes the members of a group that refused least, but not those with which it began.
func (r *Row) trim(b *Book) {
	rest := slices.Clone(r.spans[groupOf:])
	slices.SortStableFunc(rest, func(x, y span) int { return cmp.Compare(y.refused(), x.refused()) })
	gone := rest[mostMembers-groupOf:]
	r.spans[0].runs[0].left += uint32(len(gone))
	b.remove(gone)
	r.spans = append(r.spans[:groupOf:groupOf], rest[:mostMembers-groupOf]...)
}

// remove removes runs.
func (b *Book) remove(spans []span) {
	for i := range spans {
		s := &spans[i]
		left := slices.DeleteFunc(slices.Clone(b.runs[s.place]), func(r *run) bool { return slices.Contains(s.runs, r) })
		if b.runs[s.place] = left; len(left) == 0 {
			b.forget(s.place)
		}
		b.count -= len(s.runs)
	}
	b.rows = nil
}
