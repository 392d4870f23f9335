package admin

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/attack"
	"edgeguard/eventlog"
)

const (
	// fewNetworks is how many networks of an attack are listed, and MostMembers how many of one that
	// is looked at.
	fewNetworks, MostMembers = 10, 1000
	// attacksFresh is how old what standing blocks refused may be that is shown.
	attacksFresh = 5 * time.Second
	// lately is how long back the live attacks are whole; what was before is read from the disk.
	lately = 24 * time.Hour
)

// attacks are the live ones.
type attacks struct {
	mu        sync.Mutex // guards the fields below; a leaf, but for the list's
	book      attack.Book
	looked    time.Time
	heard     time.Time // when other nodes were asked: apart from looked, as who tells them looks, too
	silent    []string  // nodes that told nothing
	recalling bool      // what was kept before the start is missing
	recalled  time.Time // when the newest recall began
	waited    time.Time // when news last waited for that; zero once it is told
}

// note adds an event that was kept; node is this one's name.
func (a *attacks) note(e *Event, rule string, prefixes []netip.Prefix, node string) {
	if len(prefixes) != 1 && everybodys(e) == nil || rule == edgeguard.ManualRule || edgeguard.Owner(rule) != "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	addTo(&a.book, e, rule, only(prefixes), false, node)
}

// only returns the one prefix of an event; one that is not valid for a key without an address.
func only(prefixes []netip.Prefix) (one netip.Prefix) {
	if len(prefixes) == 1 {
		return prefixes[0]
	}
	return one
}

// everybody is how an event names a key without an address, before its attributes.
var everybody = edgeguard.Key{}.String()

// everybodys returns the crossing of an event if its key has no address.
func everybodys(e *Event) *Crossed {
	if e.Kind == EventCrossing && e.Crossing != nil && strings.HasPrefix(e.Crossing.Key, everybody) {
		return e.Crossing
	}
	return nil
}

// addTo adds an event to a book; told is of one that happened before the node, which has a name, started.
func addTo(book *attack.Book, e *Event, rule string, prefix netip.Prefix, told bool, node string) {
	c := attack.Crossing{Rule: rule, Key: prefix, Time: e.Time, Told: told, Here: e.Block == nil || isOf(e.Block.Origin, node)}
	switch {
	case e.Ended != nil && e.Block != nil:
		book.Ended(rule, prefix, e.Block.Since, uint64(e.Ended.Refused))
		return
	case e.Kind == EventBlock && e.Block != nil:
		c.Time, c.Until, c.Kind = e.Block.Since, e.Block.Until, attack.Blocked
	case e.Crossing == nil:
		return
	case e.Crossing.Stands != "":
		c.Kind = attack.Stood
	case e.Crossing.Action == edgeguard.ActionDeny.String():
		c.Kind = attack.Denied
	default:
		c.Kind = attack.Watched
	}
	if x := everybodys(e); x != nil {
		c.Everybody, c.Count, c.Limit = true, x.Count, x.Limit
		c.With = strings.TrimPrefix(strings.TrimPrefix(x.Key, everybody), " ")
	}
	book.Add(&c)
}

// isOf reports whether a block of an origin is a node's own.
func isOf(origin, node string) bool { return origin == "" || origin == node }

// read passes on what the log keeps that makes attacks.
func (e *Events) read(ctx context.Context, q eventlog.Query, add func(*Event, string, netip.Prefix)) {
	q.Kinds = []string{EventBlock, EventUnblock, EventEnd, EventCrossing}
	for entry := range e.log.Find(ctx, q) {
		var event Event
		if entry.Rule == edgeguard.ManualRule || edgeguard.Owner(entry.Rule) != "" || len(entry.Prefixes) > 1 || json.Unmarshal(entry.Body, &event) != nil {
			continue
		}
		if len(entry.Prefixes) == 1 || everybodys(&event) != nil {
			add(&event, entry.Rule, only(entry.Prefixes))
		}
	}
}

// Recall returns what adds the attacks to the live ones that were kept up to now. Until it has, none is new.
func (e *Events) Recall(now time.Time) func(context.Context) {
	before := e.log.Newest() + 1
	e.attacks.recall(true, now)
	return func(ctx context.Context) {
		defer e.attacks.recall(false, now)
		e.read(ctx, eventlog.Query{Since: now.Add(-attack.Memory), Before: before}, func(event *Event, rule string, prefix netip.Prefix) {
			e.attacks.mu.Lock()
			defer e.attacks.mu.Unlock()
			addTo(&e.attacks.book, event, rule, prefix, true, e.node)
		})
	}
}

func (a *attacks) recall(begins bool, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recalling, a.recalled = begins, now
}

// past returns a book of what the log keeps of a time, of what decides of its attacks, and of how these went on.
func (v *View) past(ctx context.Context, from, until time.Time) *attack.Book {
	var book attack.Book
	v.events.read(ctx, eventlog.Query{Since: from.Add(-attack.Memory), Until: until.Add(attack.Memory)}, func(event *Event, rule string, prefix netip.Prefix) {
		addTo(&book, event, rule, prefix, true, v.events.node)
	})
	return &book
}

// live calls a function with the live attacks, and with what the blocks in force and other nodes refused
// among them. silent are the nodes that told nothing.
func (v *View) live(look func(now time.Time, book *attack.Book, silent []string)) {
	a, now := &v.events.attacks, v.reader.Now()
	var others []FleetNode
	stale := a.stale(now)
	if stale {
		others = v.reader.FleetNodes() // asks for what this node tells, too
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	v.refresh(now)
	if stale {
		a.hear(now, others, v.events.node)
	}
	look(now, &a.book, a.silent)
}

// hear takes in what other nodes tell; the lock is held.
func (a *attacks) hear(now time.Time, nodes []FleetNode, own string) {
	var told []attack.Told
	a.heard, a.silent = now, nil
	for i := range nodes {
		switch n := &nodes[i]; {
		case !n.Alive || n.Name == own:
		case n.Figures == nil:
			a.silent = append(a.silent, n.Name)
		default:
			told = append(told, attack.Told{Node: n.Name, Figures: n.Figures.Attacks})
		}
	}
	a.book.Hear(now, told...)
}

// stale reports whether what others told is too old to be shown.
func (a *attacks) stale(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Sub(a.heard).Abs() >= attacksFresh
}

// refresh asks what the blocks in force refused, if that is too old; the lock is held.
func (v *View) refresh(now time.Time) {
	a := &v.events.attacks
	if now.Sub(a.looked).Abs() < attacksFresh {
		return
	}
	a.looked = now
	a.book.Forget(now)
	a.book.Look(now, func(network netip.Prefix, add func(attack.Standing)) {
		for _, b := range v.reader.Active(v.inside(now, network)) {
			s := attack.Standing{Rule: b.Rule, Prefix: b.Prefix, Since: b.Since, Last: b.LastRefused}
			if b.Refused != nil {
				s.Refused = uint64(*b.Refused)
			}
			add(s)
		}
	})
}

// TellAttacks returns what this node tells the others of its attacks.
func (v *View) TellAttacks() string {
	a, now := &v.events.attacks, v.reader.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	v.refresh(now)
	return a.book.Figures(now)
}

// NewAttack is an attack that nobody was told of, with the first of its blocks. Where it is denied only,
// that is of its network, and has no end.
type NewAttack struct {
	ID    string
	Block edgeguard.Block
}

// NewAttacks returns the attacks that have begun since the last call. It is asked once a second.
func (v *View) NewAttacks() (all []NewAttack) {
	a, now := &v.events.attacks, v.reader.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recalling {
		a.waited = now
		return nil
	}
	since := now.Add(-attack.Fresh)
	if a.waited.After(since) && a.recalled.Before(since) { // what began meanwhile is as fresh
		since = a.recalled
	}
	a.waited = time.Time{}
	for _, row := range a.book.News(now, since) {
		one, has := NewAttack{ID: row.ID}, a.book.Blocks(row)
		members := row.Members()
		if !row.Joined {
			members = members[:min(len(members), fewNetworks)]
		}
		for _, m := range members {
			for _, b := range v.inside(now, m.Network) {
				if has(b.Rule, b.Prefix, b.Since) && (!row.Joined || isOf(b.Origin, v.events.node)) && (!one.Block.Prefix.IsValid() || b.Since.Before(one.Block.Since)) {
					one.Block = b
				}
			}
		}
		if !one.Block.Prefix.IsValid() && row.Kinds&attack.Blocked == 0 {
			one.Block = edgeguard.Block{Prefix: members[0].Network, Rule: row.Rules[0], Since: row.Began}
		}
		if one.Block.Prefix.IsValid() { // else its block is gone already
			all = append(all, one)
		}
	}
	return all
}

// inside returns the blocks in force inside a network.
func (v *View) inside(now time.Time, network netip.Prefix) (all []edgeguard.Block) {
	for b := range v.reader.Blocks(now, network) {
		if !network.Contains(b.Prefix.Addr()) {
			break
		}
		if b.Prefix.Bits() >= network.Bits() {
			all = append(all, b)
		}
	}
	return all
}

// newAttack returns a row as the API shows it.
func newAttack(now time.Time, row *attack.Row, silent []string) Attack {
	a := Attack{
		ID: row.ID, Networks: []netip.Prefix{}, Rules: slices.Clone(row.Rules), NetworkCount: row.Networks, Addresses: row.Addresses, Blocks: row.Blocks, Began: row.Began,
		Last: row.Last, Ended: row.Ended(now), Watched: row.Kinds == attack.Watched, Denied: row.Kinds&attack.Denied != 0, Refused: row.Refused,
	}
	if a.GoesOn() {
		a.Silent = silent
	}
	if row.Everybody {
		a.Crowd = &Crowd{Key: row.With, Count: row.Most, Limit: row.Limit}
		for _, n := range row.Nodes {
			a.Crowd.Nodes = append(a.Crowd.Nodes, NodeCount(n))
		}
	}
	for _, m := range row.Members() {
		if len(a.Networks) < fewNetworks {
			a.Networks = append(a.Networks, m.Network)
		}
	}
	return a
}

// Attacks returns the attacks of a time: of the last hour for the zero times. Those that go on are
// first, and then those of which most was refused. Of times before yesterday it reads the disk.
func (v *View) Attacks(ctx context.Context, from, until time.Time) (all []Attack) {
	collect := func(now time.Time, book *attack.Book, silent []string) {
		for _, row := range book.Rows(now) {
			if !row.Began.After(until) && (row.GoesOn(now) || row.Ended(now).After(from)) {
				all = append(all, newAttack(now, row, silent))
			}
		}
	}
	now := v.reader.Now()
	if until.IsZero() {
		until = now
	}
	if from.IsZero() {
		from = until.Add(-time.Hour)
	}
	if now.Sub(from) <= lately {
		v.live(collect)
	} else {
		collect(now, v.past(ctx, from, until), nil)
	}
	v.addCrowds(all)
	return all
}

// find calls a function with the attack of an ID; it reports whether there is one.
func (v *View) find(ctx context.Context, id string, look func(time.Time, *attack.Book, *attack.Row, []string)) (found bool) {
	in := func(now time.Time, book *attack.Book, silent []string) {
		if row := book.Find(now, id); row != nil {
			found = true
			look(now, book, row, silent)
		}
	}
	v.live(in)
	rule, network, began, ok := attack.ParseID(id)
	if found || !ok {
		return found
	}
	var own attack.Book // of its network and rule: only where one has it, all that was then is read
	v.events.read(ctx, eventlog.Query{Rule: rule, Within: network, Since: began.Add(-attack.Memory), Until: began.Add(attack.Memory)}, func(event *Event, rule string, prefix netip.Prefix) {
		addTo(&own, event, rule, prefix, true, v.events.node)
	})
	if now := v.reader.Now(); own.Find(now, id) != nil {
		in(now, v.past(ctx, began, began), nil)
	}
	return found
}

// lookAt returns an attack with its networks, and its blocks in force behind a prefix in their order: up to n, or all
// for 0. Blocks of its networks that are others' are not among them. found is false if there is none of this
// ID. Of one that became part of another it returns the other.
func (v *View) lookAt(ctx context.Context, id string, after netip.Prefix, n int) (d AttackDetail, blocks []edgeguard.Block, found bool) {
	found = v.find(ctx, id, func(now time.Time, book *attack.Book, row *attack.Row, silent []string) {
		d.Members = []AttackNetwork{}
		if d.Attack = newAttack(now, row, silent); d.ID != id {
			d.Into = d.ID
		}
		members := row.Members()
		for _, m := range members[:min(len(members), MostMembers)] {
			d.Members = append(d.Members, AttackNetwork(m))
		}
		if n > 0 && d.Blocks == 0 {
			return // a page has as many as it says
		}
		has := book.Blocks(row)
		slices.SortFunc(members, func(x, y attack.Member) int { return x.Network.Compare(y.Network) })
		for _, m := range members {
			for _, b := range v.inside(now, m.Network) {
				if n > 0 && len(blocks) == n {
					return
				}
				if has(b.Rule, b.Prefix, b.Since) && (!after.IsValid() || b.Prefix.Compare(after) > 0) {
					blocks = append(blocks, b)
				}
			}
		}
	})
	return d, blocks, found
}

// AttackDetail returns an attack with a page of its blocks in force, those behind a prefix; false if there is none of this
// ID.
func (v *View) AttackDetail(ctx context.Context, id string, after netip.Prefix, limit int) (d AttackDetail, found bool) {
	d, blocks, found := v.lookAt(ctx, id, after, limit+1)
	if len(blocks) > limit {
		blocks = blocks[:limit]
		d.Next = blocks[limit-1].Prefix.String()
	}
	if found {
		v.addComers(&d, after, limit)
		d.Active, d.AsOf = append([]ActiveBlock{}, v.reader.Active(blocks)...), v.reader.Now().UTC()
	}
	return d, found
}
