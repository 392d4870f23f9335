package blocklist

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist/width"
)

// Whose is a kind of source from elsewhere. The zero one is this node.
type Whose uint8

// The kinds. Signed and Unsigned are the other nodes together: an origin is a free text,
// so that a share for each would be whatever a forger writes.
const (
	Signed   Whose = iota + 1 // other nodes, by records with the fleet's key
	Unsigned                  // whoever can write to Redis
	Owner                     // a program beside this node that blocks by its API
	Imported                  // a list that others publish, or a CrowdSec
)

var whoseNames = [...]string{"here", "nodes_signed", "nodes_unsigned", "owner", "list"}

// String returns the word used in JSON.
func (w Whose) String() string { return whoseNames[w] }

// Source is who is behind blocks, or allowances, that this node did not make. Name is
// that of an owner or a list.
type Source struct {
	Kind  Whose
	Name  string
	Allow bool
}

// Holdings is what is in force from one source: how many records, and how wide they are
// together.
type Holdings struct {
	Records int
	Width   width.Width
}

// ledger adds up what is in force from elsewhere. The list's lock guards it.
type ledger map[Source]*account

type account struct {
	records int
	union   width.Union
}

// source returns who is behind an active record.
func (e *entry) source() Source {
	switch owner := edgeguard.Owner(e.block.Rule); {
	case e.trust.has(elsewhere) && e.trust.has(signed):
		return Source{Kind: Signed, Allow: e.block.Allow}
	case e.trust.has(elsewhere):
		return Source{Kind: Unsigned, Allow: e.block.Allow}
	case owner != "":
		return Source{Kind: Owner, Name: owner, Allow: e.block.Allow}
	}
	return Source{}
}

func (l ledger) add(e *entry) {
	from := e.source()
	if from.Kind == 0 {
		return
	}
	a := l[from]
	if a == nil {
		a = new(account)
		l[from] = a
	}
	a.records++
	a.union.Add(e.block.Prefix)
}

func (l ledger) remove(e *entry) {
	from := e.source()
	a := l[from]
	if a == nil {
		return
	}
	if a.records--; a.records == 0 {
		delete(l, from)
		return
	}
	a.union.Remove(e.block.Prefix)
}

// Elsewhere returns what is in force of each source but this node. Records that have
// ended count until a Sweep.
func (l *List) Elsewhere() map[Source]Holdings {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[Source]Holdings, len(l.elsewhere))
	for from, a := range l.elsewhere {
		all[from] = Holdings{a.records, a.union.Width()}
	}
	return all
}

// WidthWith returns how wide the records of a source would be with one more.
func (l *List) WidthWith(from Source, prefix netip.Prefix) width.Width {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.elsewhere[from]; a != nil {
		return a.union.WidthWith(prefix)
	}
	return width.WidthOf(prefix)
}

// Prove is called when this node's own counts, or the total of what the nodes counted,
// show that the block of exactly this prefix is right: it is no longer in force on
// another node's word alone. OnChange is not called. Prove reports whether it was.
func (l *List) Prove(prefix netip.Prefix, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.current.index.exact(prefix)
	if e == nil || !e.trust.has(elsewhere) || !e.binds(now, false) {
		return false
	}
	l.stand(&entry{block: e.block, trust: e.trust &^ elsewhere}, e, now)
	l.publish()
	return true
}

// StandingAndSource returns the standing of an address, as Find does, and who is behind the block or
// the allowance that it comes from. It takes no lock.
func (l *List) StandingAndSource(now time.Time, addr netip.Addr) (Standing, Source) {
	v := l.view.Load()
	if v == nil {
		return None, Source{}
	}
	standing, hit := v.findHit(now, addr)
	switch {
	case standing == Blocked:
		return standing, (*entry)(hit).source()
	case standing == Allowed && v.allowances != nil:
		if e := v.allowance(now, netip.PrefixFrom(addr, addr.BitLen())); e != nil {
			return standing, e.source()
		}
	}
	return standing, Source{}
}
