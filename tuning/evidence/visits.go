package evidence

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

const (
	// visitedPages is from how many different pages on an address may be a customer's.
	visitedPages = 3
	// visitFor is for how long pages say something of an address: on the next day it may be
	// somebody else's.
	visitFor = 24 * time.Hour
	// visitBuckets of visitWays addresses each take 1.5 MiB.
	visitBuckets, visitWays = 1 << 13, 8
)

// Visits remembers which addresses were served pages of this site: who reads some and is then
// blocked for logins may be a customer. It is of a fixed size: the address that was served
// longest ago makes room. It is a hint and no proof, since who knows of it can fetch three pages
// first. It is safe for concurrent use. Make one with [NewVisits].
type Visits struct {
	mu      sync.Mutex // guards buckets
	buckets [][visitWays]visit
}

// visit is what is known of an address. Pages are hashes; 0 is none.
type visit struct {
	who   uint64
	last  uint32 // in seconds since 1970; 0: nobody
	pages [visitedPages]uint32
}

// NewVisits returns an empty one.
func NewVisits() *Visits { return &Visits{buckets: make([][visitWays]visit, visitBuckets)} }

// Note remembers a page that was served to who came from a page of this site, as the Referer
// says: a GET answered with 2xx or 304. What a browser loads with a page is none, nor is where
// passwords are sent. A redirect shows no page: it is how a site sends strangers to its login.
func (v *Visits) Note(now time.Time, ev *edgeguard.Event, own *rules.Hosts) {
	const known = edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldReferer
	if ev.Referer == "" || ev.Known&known != known || ev.Verified&edgeguard.KindResponse == 0 || ev.Method != "GET" ||
		ev.Status/100 != 2 && ev.Status != 304 {
		return
	}
	path, _, _ := strings.Cut(ev.Path, "?")
	if end := path[strings.LastIndexByte(path, '.')+1:]; len(end) <= 5 && (pictures[end] || assets[end]) {
		return // most lines with a Referer: so they cost half
	}
	if names := targetOf(path); names != page && names != script || !rules.FromOwnPage(ev, own) {
		return
	}
	who, hash := visitorOf(ev.Addr), max(1, uint32(maphash.String(seed, path)))
	v.mu.Lock()
	defer v.mu.Unlock()
	x := v.place(who)
	same := x.who == who && !x.isOver(now)
	if !same || x.pages[visitedPages-1] == 0 && !slices.Contains(x.pages[:], hash) {
		if isDoor(path) { // asked last: it takes longest
			return
		}
		if !same {
			*x = visit{who: who}
		}
		x.pages[slices.Index(x.pages[:], 0)] = hash
	}
	x.last = uint32(now.Unix())
}

// MayBeCustomer reports whether an address, or an IPv6 /64, was served as many different pages as
// customers are. A wider network is none.
func (v *Visits) MayBeCustomer(now time.Time, prefix netip.Prefix) bool {
	if prefix != Prefix(prefix.Addr()) {
		return false
	}
	who := visitorOf(prefix.Addr())
	v.mu.Lock()
	defer v.mu.Unlock()
	x := v.place(who)
	return x.who == who && x.pages[visitedPages-1] != 0 && !x.isOver(now)
}

// place returns the place of an address, which may be another's: that of the one that was served
// longest ago. The caller holds the lock.
func (v *Visits) place(who uint64) *visit {
	in := &v.buckets[maphash.Comparable(seed, who)%visitBuckets]
	oldest := &in[0]
	for i := range in {
		if x := &in[i]; x.who == who && x.last != 0 {
			return x
		} else if x.last < oldest.last {
			oldest = x
		}
	}
	return oldest
}

// isOver reports whether the address was served for the last time too long ago.
func (x *visit) isOver(now time.Time) bool { return now.Sub(time.Unix(int64(x.last), 0)) >= visitFor }

// visitorOf returns an IPv4 address, or the /64 of an IPv6 one, as a number.
func visitorOf(addr netip.Addr) uint64 {
	b := addr.As16()
	if addr.Is4() {
		return uint64(binary.BigEndian.Uint32(b[12:]))
	}
	return binary.BigEndian.Uint64(b[:8])
}

// CountsLogins reports whether a meter counts logins: those that services refused, what is sent to a
// path where people log in, or answers 401 alone.
func CountsLogins(m *rules.Meter) bool {
	terms := m.Terms()
	if terms.Path.Any == nil {
		return m.Kind == edgeguard.KindAuthFailure || slices.Equal(terms.Status, []rules.Range{{Low: 401, High: 401}})
	}
	return slices.ContainsFunc(terms.Path.Any, func(g rules.Glob) bool { return isDoor(strings.Join(g, "*")) })
}
