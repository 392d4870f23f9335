package attack

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/internal/safetext"
)

const (
	// mostCrowds keys have members, of each mostCame: 60 KiB a key, 2 MiB in all.
	mostCrowds, mostCame = 32, 2000
	// clearly is how much further above its limit a key is that takes the place of another.
	clearly = 1.5
	// memberPlaces are the places of the index over a key's members, a power of two, and restBits the bits by
	// which those are counted that have no place.
	memberPlaces, restBits = 4096, 1 << 14
	// mostAgents are told apart of a key, by so much of their text.
	mostAgents, agentRoom = 8, 128
	// succeedWithin is how long after it came a member can succeed.
	succeedWithin = 30 * time.Minute
	// tellEvery is how often it is told that a key is still over its limit: three times in the time after
	// which its row ends, and as often around a restart.
	tellEvery = 5 * time.Minute
	// v6Client is the prefix length of an IPv6 member: most clients have a /64.
	v6Client = 64
)

// Crowds keeps who came to keys without an address that are over half of their limit. It is safe for concurrent
// use; the zero value is ready.
type Crowds struct {
	mu   sync.Mutex // guards keys
	keys map[crowdKey]*crowd
	// until is the second up to which an answer can be a member's success: others cost a comparison.
	until atomic.Uint32
}

// crowdKey is a rule and the attributes of one of its keys, as shown.
type crowdKey struct{ rule, with string }

// crowd is what is kept of a key. Its times are seconds.
type crowd struct {
	began, last, told  uint32
	count, most, limit uint32
	events             uint64
	sum                [8]byte // of the attributes
	members            []came
	places             [memberPlaces]uint16 // numbers of members, from 1
	rest               [restBits / 64]uint64
	agents             [mostAgents]agent
}

// came is a member.
type came struct {
	addr      [16]byte
	first     uint32
	succeeded uint32 // when; 0: not
}

// agent is a user agent with how often it came: at most so often, and lately at least without the extra.
type agent struct {
	text     string
	n, extra uint64
}

var crowdSeed = maphash.MakeSeed()

// Note notes an event that brought a key to a count beyond half of its limit, or found it there. It reports
// whether it is to be told that the key is still over its limit. Of with and the event nothing is kept that is not copied.
// An event that is nil was no client's: it makes no member.
func (c *Crowds) Note(now time.Time, rule, with string, count, limit uint32, ev *edgeguard.Event) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sec := secondOf(now)
	k := c.keys[crowdKey{rule, with}]
	if k == nil || k.isOver(sec) {
		if k = c.open(sec, rule, with, count, limit); k == nil {
			return false
		}
	}
	before := k.count
	k.last, k.count, k.most, k.limit = max(k.last, sec), count, max(k.most, count), limit
	c.until.Store(max(c.until.Load(), sec+uint32(succeedWithin/time.Second)))
	k.events++
	if ev != nil {
		k.noteMember(clientOf(ev.Addr), sec)
	}
	if ev != nil && ev.Known&edgeguard.FieldAgent != 0 {
		k.noteAgent(ev.Agent)
	}
	if count <= limit {
		k.told = 0 // what brings it over is a crossing, which may wait
		return false
	}
	// The first time the crossing tells it, unless the limit was lowered: then nothing crosses it.
	again = k.told != 0 && sec >= k.told+uint32(tellEvery/time.Second) || k.told == 0 && before > limit
	if k.told == 0 || again {
		k.told = sec
	}
	return again
}

func secondOf(t time.Time) uint32 { return uint32(min(max(t.Unix(), 0), math.MaxUint32)) }

// clientOf returns the address of a client, or the /64 of an IPv6 one.
func clientOf(addr netip.Addr) (of [16]byte) {
	of = addr.As16()
	if !addr.Is4() {
		clear(of[v6Client/8:])
	}
	return of
}

// open makes room for a key; nil if all others go on, and it is not clearly further above its limit than one of them. Keys
// that grow together would else take each other's places with every event.
func (c *Crowds) open(sec uint32, rule, with string, count, limit uint32) *crowd {
	key := crowdKey{rule, with}
	if c.keys == nil {
		c.keys = make(map[crowdKey]*crowd)
	}
	if _, again := c.keys[key]; !again && len(c.keys) >= mostCrowds {
		var least crowdKey
		var of *crowd
		for other, k := range c.keys {
			if of == nil || k.compare(of, sec) < 0 {
				least, of = other, k
			}
		}
		if own := share(count, limit); !of.isOver(sec) && own < clearly*of.share() && (own <= 1 || of.share() > 1) {
			return nil
		}
		delete(c.keys, least)
	}
	k := &crowd{began: sec, sum: fingerprint(with)}
	c.keys[crowdKey{rule, strings.Clone(with)}] = k
	return k
}

// compare orders keys: first those that have ended, and then those that are less above their limits.
func (k *crowd) compare(o *crowd, sec uint32) int {
	return cmp.Or(-compareBool(k.isOver(sec), o.isOver(sec)), cmp.Compare(k.share(), o.share()), cmp.Compare(o.began, k.began))
}

func (k *crowd) isOver(sec uint32) bool { return sec > k.last+uint32(quiet/time.Second) }

func (k *crowd) share() float64 { return share(k.most, k.limit) }

func share(count, limit uint32) float64 { return float64(count) / float64(max(limit, 1)) }

// place returns where the index has a member, or has room for it.
func (k *crowd) place(addr [16]byte, hash uint64) *uint16 {
	for i := hash; ; i++ {
		at := &k.places[i%memberPlaces]
		if *at == 0 || k.members[*at-1].addr == addr {
			return at
		}
	}
}

func (k *crowd) noteMember(addr [16]byte, sec uint32) {
	hash := maphash.Comparable(crowdSeed, addr)
	at := k.place(addr, hash)
	switch {
	case *at != 0:
	case len(k.members) < mostCame:
		if len(k.members) == cap(k.members) { // no more room than for all
			k.members = append(make([]came, 0, min(max(2*cap(k.members), 64), mostCame)), k.members...)
		}
		k.members = append(k.members, came{addr: addr, first: sec})
		*at = uint16(len(k.members))
	default:
		bit := hash >> 32 % restBits
		k.rest[bit/64] |= 1 << (bit % 64)
	}
}

// noteAgent counts a user agent. One that finds no room takes the place of the rarest, and its count beside.
func (k *crowd) noteAgent(text string) {
	text = text[:min(len(text), agentRoom)]
	rarest := &k.agents[0]
	for i := range k.agents {
		a := &k.agents[i]
		if a.n > 0 && a.text == text {
			a.n++
			return
		}
		if a.n < rarest.n {
			rarest = a
		}
	}
	rarest.text, rarest.extra, rarest.n = strings.Clone(text), rarest.n, rarest.n+1
}

// Answered notes the answer to a client, if it is a member of some key: one that was served, or sent on, succeeded.
func (c *Crowds) Answered(now time.Time, ev *edgeguard.Event) {
	sec := secondOf(now)
	if sec > c.until.Load() || ev.TurnedAway || ev.Status < 200 || ev.Status > 399 || ev.Known&edgeguard.FieldStatus == 0 || ev.Kind&ev.Verified&edgeguard.KindResponse == 0 {
		return
	}
	addr := clientOf(ev.Addr)
	hash := maphash.Comparable(crowdSeed, addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.keys {
		if at := k.place(addr, hash); *at != 0 {
			if m := &k.members[*at-1]; m.succeeded == 0 && sec-m.first <= uint32(succeedWithin/time.Second) {
				m.succeeded = max(sec, 1)
			}
		}
	}
}

// Crowd is who came to a key.
type Crowd struct {
	Began       time.Time // since it was over half of its limit
	Most, Limit uint32    // the greatest count
	// Members are those that have a place, in the order of their prefixes, and Rest is how many there are about beside
	// them: at most MostRest, which says that there may be more.
	Members []Comer
	Rest    int
	Agents  []Agent // the commonest, the commonest first
}

// MostRest is how many members can be told beside those that have a place.
const MostRest = 100_000

// Comer is a member: an IPv4 address or an IPv6 /64.
type Comer struct {
	Prefix    netip.Prefix
	First     time.Time
	Succeeded bool // within half an hour
	Waits     bool // it did not, and the half hour is not over
	// MayBeCustomer says that pages were served to it before: it is for who knows to set it.
	MayBeCustomer bool
}

// Agent is the user agent of at least a share of what came.
type Agent struct {
	Text  string
	Share float64
}

// Of returns who came to a key; false if none is kept, or if that ended before a time, at which a crossing was told:
// some are told later than they were.
func (c *Crowds) Of(now time.Time, rule, with string, since time.Time) (of Crowd, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.keys[crowdKey{rule, with}]
	if k == nil || k.isOver(secondOf(since)) {
		return of, false
	}
	of = Crowd{Began: time.Unix(int64(k.began), 0).UTC(), Most: k.most, Limit: k.limit, Rest: k.others()}
	for i := range k.members {
		m := &k.members[i]
		addr := netip.AddrFrom16(m.addr).Unmap()
		bits := v6Client
		if addr.Is4() {
			bits = 32
		}
		of.Members = append(of.Members, Comer{
			Prefix: netip.PrefixFrom(addr, bits), First: time.Unix(int64(m.first), 0).UTC(), Succeeded: m.succeeded != 0,
			Waits: m.succeeded == 0 && secondOf(now) < m.first+uint32(succeedWithin/time.Second),
		})
	}
	slices.SortFunc(of.Members, func(x, y Comer) int { return x.Prefix.Compare(y.Prefix) })
	for i := range k.agents {
		if a := &k.agents[i]; a.n > a.extra {
			of.Agents = append(of.Agents, Agent{safetext.Strip(a.text), float64(a.n-a.extra) / float64(k.events)})
		}
	}
	slices.SortStableFunc(of.Agents, func(x, y Agent) int { return cmp.Compare(y.Share, x.Share) })
	return of, true
}

// With returns the attributes that a key has, by their fingerprint in tables; empty if they are not kept.
func (c *Crowds) With(sum uint64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, k := range c.keys {
		if binary.BigEndian.Uint64(k.sum[:]) == sum {
			return key.with
		}
	}
	return ""
}

// others returns how many members there are about without a place: by how many bits nobody has set.
func (k *crowd) others() int {
	unset := restBits
	for _, some := range k.rest {
		unset -= bits.OnesCount64(some)
	}
	return min(int(restBits*math.Log(restBits/float64(max(unset, 1)))+0.5), MostRest)
}
