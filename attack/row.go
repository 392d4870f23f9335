package attack

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"
	"time"
)

// span is the runs of a place that follow each other over midnights.
type span struct {
	place
	first, last, reach int64
	runs               []*run
}

func (s *span) refused() (n uint64) {
	for _, r := range s.runs {
		n += r.refused + r.standing
	}
	return n
}

// Row is an attack: a network with rules, a group of networks with one rule, or a key without an address.
type Row struct {
	ID    string
	Group bool
	// Everybody says that it is a key without an address: it has no networks and no addresses. With are the key's
	// attributes as shown, Most is the greatest count that this node told of it, and Limit what is allowed.
	Everybody   bool
	With        string
	Most, Limit uint32
	Nodes       []NodeCount // what other nodes count of it
	Rules       []string    // those that refused most first
	// Networks is how many there are, and Addresses how many keys in them: of IPv6 at most 256 a
	// network.
	Networks, Addresses int
	Began, Last         time.Time // the last crossing or refusal
	Kinds               Outcome
	Refused             uint64 // by blocks, on all nodes that told of it
	Blocks              int    // in force
	// Joined says that only other nodes' blocks were of the group when somebody was told of it, and that one of
	// this node's is now.
	Joined bool

	spans              []span // in the order of their first crossings
	first, last, reach int64
	crossed            int64   // the last crossing
	own                Outcome // of this node's crossings
	here               uint64
	told, mine         bool // as of a run
	toldMine           bool
}

// GoesOn reports whether an attack has not ended.
func (r *Row) GoesOn(now time.Time) bool { return now.Sub(r.Last) < quiet }

// Ended returns when an attack ended; the zero time while it goes on.
func (r *Row) Ended(now time.Time) (at time.Time) {
	if r.GoesOn(now) {
		return at
	}
	return r.Last.Add(quiet)
}

// Member is a network of an attack.
type Member struct {
	Network netip.Prefix
	Began   time.Time
	Refused uint64
}

// Members returns the networks of an attack, those that refused most first.
func (r *Row) Members() (all []Member) {
	if r.Everybody {
		return nil
	}
	at := make(map[netip.Prefix]int, len(r.spans))
	for i := range r.spans {
		s := &r.spans[i]
		n, again := at[s.network]
		if !again {
			n, at[s.network] = len(all), len(all)
			all = append(all, Member{Network: s.network, Began: time.Unix(s.first, 0).UTC()})
		}
		all[n].Refused += s.refused()
	}
	slices.SortStableFunc(all, func(x, y Member) int { return cmp.Compare(y.Refused, x.Refused) })
	return all
}

// spans returns the runs of all places, joined over midnights.
func (b *Book) spans() []span {
	all := make([]span, 0, b.count)
	for at, runs := range b.runs {
		from := len(all)
		for i, r := range runs {
			if n := len(all); n > from {
				if s := &all[n-1]; r.first <= s.reach && !cut(s.first, r.first) {
					s.last, s.reach, s.runs = max(s.last, r.last), max(s.reach, r.reach), runs[i-len(s.runs):i+1]
					continue
				}
			}
			all = append(all, span{at, r.first, r.last, r.reach, runs[i : i+1]})
		}
	}
	return all
}

// rowsOf makes rows.
func rowsOf(all []span) (rows []*Row) {
	all = slices.DeleteFunc(all, func(s span) bool {
		if s.everybody {
			rows = append(rows, &Row{Everybody: true, spans: []span{s}, first: s.first, last: s.last, reach: s.reach})
		}
		return s.everybody
	})
	slices.SortFunc(all, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.rule, y.rule), cmp.Compare(x.first, y.first), x.network.Compare(y.network))
	})
	single := make([]span, 0, len(all))
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].rule == all[0].rule {
			n++
		}
		var groups []*Row
		groups, single = groupsOf(all[:n], single)
		rows, all = append(rows, groups...), all[n:]
	}
	slices.SortFunc(single, func(x, y span) int {
		return cmp.Or(x.network.Compare(y.network), cmp.Compare(x.first, y.first), cmp.Compare(x.rule, y.rule))
	})
	var row *Row
	for i := range single {
		s := &single[i]
		if row == nil || row.spans[0].network != s.network || !row.takes(s) {
			row = &Row{first: s.first}
			rows = append(rows, row)
		}
		row.add(s)
	}
	for _, r := range rows {
		r.sum()
	}
	return rows
}

// groupsOf makes groups of the spans of one rule, and appends the others to single.
func groupsOf(all, single []span) (groups []*Row, rest []span) {
	var open *Row
	var begun []span // may begin a group
	for i := range all {
		s := &all[i]
		if open != nil && open.takes(s) {
			open.add(s)
			continue
		}
		open = nil
		n := 0
		for n < len(begun) && s.first-begun[n].first > int64(groupWithin/time.Second) {
			n++
		}
		single, begun = append(single, begun[:n]...), append(begun[n:], *s)
		if networks(begun) < groupOf {
			continue
		}
		open = &Row{Group: true, first: begun[0].first}
		for j := range begun {
			open.add(&begun[j])
		}
		groups, begun = append(groups, open), nil
	}
	return groups, append(single, begun...)
}

// networks returns how many networks spans are of.
func networks(spans []span) (n int) {
	if len(spans) < groupOf {
		return len(spans)
	}
	for i := range spans {
		if !slices.ContainsFunc(spans[:i], func(s span) bool { return s.network == spans[i].network }) {
			n++
		}
	}
	return n
}

// takes reports whether runs that begin then belong to a row.
func (r *Row) takes(s *span) bool { return s.first <= r.reach && !cut(r.first, s.first) }

func (r *Row) add(s *span) {
	r.spans = append(r.spans, *s)
	r.last, r.reach = max(r.last, s.last), max(r.reach, s.reach)
}

// sum adds up a row's figures.
func (r *Row) sum() {
	by := make(map[string]*run, 1) // what a rule did
	in := make(map[netip.Prefix][4]uint64, 1)
	others := 0
	for i := range r.spans {
		s := &r.spans[i]
		if by[s.rule] == nil {
			by[s.rule] = &run{}
		}
		for _, one := range s.runs {
			by[s.rule].join(one)
			seen := in[s.network]
			for j := range seen {
				seen[j] |= one.hosts[j]
			}
			in[s.network] = seen
		}
	}
	r.crossed = r.last
	for rule, did := range by {
		r.told, r.mine, r.toldMine = r.told || did.told, r.mine || did.mine, r.toldMine || did.toldMine
		r.Rules, r.own, r.last = append(r.Rules, rule), r.own|did.kinds, max(r.last, did.refusedAt)
		r.Kinds |= did.kinds | did.heard
		r.here, r.Blocks = r.here+did.refused+did.standing, r.Blocks+int(did.blocks)
		r.Refused, others = r.Refused+did.elsewhere, max(others, int(did.networks))
		r.Networks, r.Addresses = r.Networks+int(did.left), r.Addresses+int(did.left)
	}
	r.Networks, r.Refused = max(r.Networks+len(in), others), r.Refused+r.here
	for _, seen := range in {
		for _, some := range seen {
			r.Addresses += bits.OnesCount64(some)
		}
	}
	if r.Everybody {
		of := by[r.Rules[0]].crowd
		r.Networks, r.Addresses, r.With, r.Most, r.Limit, r.Nodes = 0, 0, of.with, of.most, of.limit, of.others
	}
	slices.SortFunc(r.Rules, func(x, y string) int {
		return cmp.Or(cmp.Compare(by[y].refused+by[y].standing, by[x].refused+by[x].standing), cmp.Compare(by[y].kinds, by[x].kinds), cmp.Compare(x, y))
	})
	r.Joined = r.Group && r.told && r.mine && !r.toldMine
	r.ID = idOf(r.spans[0].place, r.first)
	r.Began, r.Last = time.Unix(r.first, 0).UTC(), time.Unix(r.last, 0).UTC()
}
