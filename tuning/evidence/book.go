package evidence

import (
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
)

// MaxRecords is how many addresses a book knows. Of more, the half with the fewest
// requests is dropped; one that returns begins again. A record is about 610 bytes,
// and its texts at most 700.
const MaxRecords = 1 << 16

// How many texts a record keeps of each sort, and their length in bytes.
const (
	pathSlots  = 6
	agentSlots = 2
	pathBytes  = 80
	agentBytes = 96
)

// Record is what one address did: an IPv4 address, or the /64 of an IPv6 one.
type Record struct {
	Prefix      netip.Prefix
	First, Last time.Time
	// Requests is all events. Answered have a status.
	Requests, Answered uint32
	// Assets were loaded: pictures, styles, scripts for browsers, with success.
	Assets uint32
	// Errors are answers 4xx; Failed those for neither an asset nor what clients ask
	// for unasked.
	Errors, Failed uint32
	Posts          uint32
	// Doors are requests where people log in. Tries are the POSTs among them, Sent
	// those of these that a redirect answered, as it mostly does a success, and Refused
	// those with 4xx.
	Doors, Tries, Sent, Refused uint32
	// Inside are pages that only somebody who is logged in sees.
	Inside uint32
	// Pictures were asked for, there or not.
	Pictures uint32
	// Bots are requests whose agent says to be a crawler, Engines those that say to be
	// one of a search engine or assistant, Browsers those that say to be a browser, and
	// Apps those that say to be WordPress' own programs.
	Bots, Engines, Browsers, Apps uint32
	// Verified are requests of a crawler that is verified, and Impostors those of
	// somebody who only says to be one, where the config has crawlers.
	Verified, Impostors uint32
	Robots              bool // asked for robots.txt

	failing, odd, secret marks // different paths
	paths                [pathSlots]slot
	agents               [agentSlots]slot
}

// Paths returns what the address asked for most, with the method.
func (r *Record) Paths() []Often { return mostOften(r.paths[:]) }

// Agents returns what it said to be.
func (r *Record) Agents() []Often { return mostOften(r.agents[:]) }

// Book is what all addresses did. Make one with [NewBook].
type Book struct {
	records map[netip.Prefix]*Record
	most    int
	dropped uint64
	// assets and requests are of the whole log.
	assets, requests uint64
	read             *reading
	agents           remembered[claim]
	paths            remembered[spelling]
	line             []byte
	watched          []watched
}

// NewBook returns an empty book. most is 0 for MaxRecords.
func NewBook(most int) *Book {
	b := &Book{most: most, agents: remembered[claim]{of: claimOf}, paths: remembered[spelling]{of: spellingOf}}
	if most <= 0 {
		b.most = MaxRecords
	}
	b.Reset()
	return b
}

// Reset empties the book: the log is read again.
func (b *Book) Reset() {
	b.records, b.read = make(map[netip.Prefix]*Record), nil
	b.dropped, b.assets, b.requests = 0, 0, 0
	for i := range b.watched {
		clear(b.watched[i].succeeded)
		clear(b.watched[i].redirected)
	}
}

// Dropped is how many records were dropped for room.
func (b *Book) Dropped() uint64 { return b.dropped }

// Prefix returns what an address is recorded under.
func Prefix(addr netip.Addr) netip.Prefix {
	if addr.Is4() {
		return netip.PrefixFrom(addr, 32)
	}
	p, _ := addr.Prefix(64) // no error: addr is IPv6
	return p
}

// network returns the neighbourhood of a prefix: /24 or /48.
func network(p netip.Prefix) netip.Prefix {
	bits := 24
	if p.Addr().Is6() {
		bits = 48
	}
	n, _ := p.Addr().Prefix(min(bits, p.Bits())) // no error: not longer than the address
	return n
}

// Add adds an event of a request or its answer. Packets say nothing.
func (b *Book) Add(e *edgeguard.Event) {
	if e.Kind&(edgeguard.KindRequest|edgeguard.KindResponse) == 0 || !e.Addr.IsValid() {
		return
	}
	if b.read != nil {
		b.read = nil
	}
	r := b.record(Prefix(e.Addr))
	if r.Requests == 0 || e.Time.Before(r.First) {
		r.First = e.Time
	}
	if e.Time.After(r.Last) {
		r.Last = e.Time
	}
	for i := range b.watched {
		b.watched[i].noteSuccess(e)
	}
	r.Requests++
	b.requests++
	path := rules.NormalPath(e.Path)
	b.line = append(append(append(b.line[:0], e.Method...), ' '), path...)
	count(r.paths[:], unsafetext.String(b.line), pathBytes) // count copies what it keeps
	if e.Known&edgeguard.FieldAgent != 0 {
		count(r.agents[:], e.Agent, agentBytes)
		r.claims(b.agents.get(e.Agent))
	}
	if r.add(e, path, b.paths.get(path)) {
		b.assets++
	}
}

// claims records what a client says to be.
func (r *Record) claims(c claim) {
	if c.bot {
		r.Bots++
	}
	if c.engine {
		r.Engines++
	}
	if c.browser && !c.bot {
		r.Browsers++
	}
	if c.app {
		r.Apps++
	}
}

// add records what an event asked for and what came of it, and reports whether it was
// an asset that was loaded.
func (r *Record) add(e *edgeguard.Event, path string, is spelling) (loaded bool) {
	names, failed := is.names, e.Status >= 400 && e.Status < 500
	if e.Status != 0 {
		r.Answered++
	}
	switch {
	case strings.HasPrefix(e.Crawler, edgeguard.VerifiedCrawler):
		r.Verified++
	case e.Crawler == "impostor":
		r.Impostors++
	}
	if e.Method == "POST" {
		r.Posts++
	}
	if is.door {
		r.knock(e, failed)
	}
	if names == picture {
		r.Pictures++
	}
	loaded = (names == asset || names == picture) && good(e.Status)
	switch {
	case loaded:
		r.Assets++
	case names == robots:
		r.Robots = true
	case e.Status == 200 && is.inside:
		r.Inside++
	}
	if failed {
		r.fail(path, names)
	}
	return loaded
}

// knock records a request where people log in.
func (r *Record) knock(e *edgeguard.Event, failed bool) {
	r.Doors++
	if e.Method != "POST" {
		return
	}
	r.Tries++
	switch {
	case failed:
		r.Refused++
	case e.Status >= 300 && e.Status < 400:
		r.Sent++
	}
}

// fail records an answer 4xx.
func (r *Record) fail(path string, names target) {
	r.Errors++
	if names != page && names != script && names != secret {
		return
	}
	r.Failed++
	r.failing.add(path)
	if names == page {
		return
	}
	r.odd.add(path)
	if names == secret {
		r.secret.add(path)
	}
}

// good reports whether an answer is a success for a browser.
func good(status uint16) bool { return status >= 200 && status < 300 || status == 304 }

// record returns the record of a prefix, a new one if there is none.
func (b *Book) record(p netip.Prefix) *Record {
	if r := b.records[p]; r != nil {
		return r
	}
	if len(b.records) >= b.most {
		b.makeRoom()
	}
	r := &Record{Prefix: p}
	b.records[p] = r
	return r
}

// makeRoom drops the half with the fewest requests; of equals, those seen least
// recently.
func (b *Book) makeRoom() {
	all := b.Records()
	for _, r := range all[len(all)/2:] {
		delete(b.records, r.Prefix)
		b.dropped++
	}
	b.read = nil
}

// Len returns how many addresses are known.
func (b *Book) Len() int { return len(b.records) }

// Records returns the records, those with the most requests first.
func (b *Book) Records() []*Record { return b.reading().all }

// Record returns what is known of a key's prefix: of the address, or the sum of
// those inside a wider one. It is nil if nothing is known.
func (b *Book) Record(p netip.Prefix) *Record {
	if !p.IsValid() {
		return nil
	}
	if own := Prefix(p.Addr()); p.Bits() >= own.Bits() {
		return b.records[own]
	}
	among := b.Records()
	if network(p) == p {
		among = b.reading().networks[p]
	}
	var sum *Record
	for _, r := range among {
		if !p.Contains(r.Prefix.Addr()) {
			continue
		}
		if sum == nil {
			sum = &Record{Prefix: p, First: r.First}
		}
		sum.merge(r)
	}
	return sum
}

// merge adds what another address did.
func (r *Record) merge(o *Record) {
	if o.First.Before(r.First) {
		r.First = o.First
	}
	if o.Last.After(r.Last) {
		r.Last = o.Last
	}
	for _, f := range [...]struct {
		to *uint32
		n  uint32
	}{
		{&r.Requests, o.Requests}, {&r.Answered, o.Answered}, {&r.Assets, o.Assets}, {&r.Errors, o.Errors}, {&r.Failed, o.Failed},
		{&r.Posts, o.Posts}, {&r.Doors, o.Doors}, {&r.Tries, o.Tries}, {&r.Sent, o.Sent}, {&r.Inside, o.Inside},
		{&r.Bots, o.Bots}, {&r.Apps, o.Apps}, {&r.Engines, o.Engines}, {&r.Browsers, o.Browsers}, {&r.Pictures, o.Pictures}, {&r.Refused, o.Refused},
	} {
		*f.to += f.n
	}
	r.Robots = r.Robots || o.Robots
	r.failing.merge(&o.failing)
	r.odd.merge(&o.odd)
	r.secret.merge(&o.secret)
	addTexts(r.paths[:], o.paths[:])
	addTexts(r.agents[:], o.agents[:])
}

// Neighbour is another address of the same network.
type Neighbour struct {
	Prefix   netip.Prefix
	Requests uint32
}

// Neighbours returns the network of a prefix and the others in it that are known,
// those with the most requests first.
func (b *Book) Neighbours(p netip.Prefix) (in netip.Prefix, others []Neighbour) {
	in = network(p)
	for _, r := range b.reading().networks[in] {
		if !p.Overlaps(r.Prefix) {
			others = append(others, Neighbour{r.Prefix, r.Requests})
		}
	}
	return in, others
}
