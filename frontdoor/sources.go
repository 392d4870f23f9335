package frontdoor

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
)

const (
	// quiet is how long a source must have shown no address of the Internet, for others in it
	// to be a front door's. A day, because at night a small site may see none.
	quiet = uint32(24 * time.Hour / time.Second)
	// sampled is how many addresses of a source are kept at most, each for a day.
	sampled = 128
)

// Sources is what the sources of events have shown of their clients, by [edgeguard.Event.Source].
// The instants are seconds of the node's clock. It is safe for concurrent use. A nil one spares
// nobody.
type Sources struct {
	seed    uint64
	all     [math.MaxUint8 + 1]source
	clients clients
}

// source is what one source has shown. Of the events of one second one is looked at.
type source struct {
	public atomic.Uint32 // when it last showed an address of the Internet; 0: never
	inner  atomic.Bool   // it has shown another

	mu sync.Mutex // guards sample, expires
	// sample has the addresses of the Internet with the smallest hashes, in that order: each
	// address is as likely to be in it as another, whatever it sends.
	sample  []shown
	expires uint32 // when what is old is dropped next
}

type shown struct {
	hash uint64
	sec  uint32 // when it last came
	cdn  uint8  // whose it is, from 1; 0 for no CDN's
}

// New returns sources that have shown nothing. A seed that nobody can guess keeps a client from
// choosing its addresses by the sample.
func New(seed uint64) *Sources { return &Sources{seed: seed} }

// tells reports whether an event tells who its source's clients are. Packets and logins at other
// services do not: no front door stands before these, but a neighbour that attacks may.
func tells(ev *edgeguard.Event) bool {
	return !ev.Named && ev.Kind&(edgeguard.KindRequest|edgeguard.KindResponse) != 0
}

// NoteClient notes the client of an event that is decided in the second sec.
func (s *Sources) NoteClient(ev *edgeguard.Event, sec uint32) {
	if s == nil {
		return
	}
	one := &s.all[ev.Source]
	switch {
	case one.public.Load() >= sec || !tells(ev):
	case IsInner(ev.Addr):
		if !one.inner.Load() {
			one.inner.Store(true)
		}
	default:
		one.public.Store(sec)
		one.take(s.hash(ev.Addr), ev.Addr, sec)
	}
}

// take puts an address into the sample. Only for an address that gets there is it looked up whose it is.
func (o *source) take(hash uint64, a netip.Addr, sec uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if sec >= o.expires {
		o.expire(sec)
		o.expires = sec + quiet/100
	}
	switch i, known := o.find(hash); {
	case known:
		o.sample[i].sec = sec
	case i < sampled:
		o.sample = slices.Insert(o.sample, i, shown{hash, sec, cdnOf(a)})
		o.sample = o.sample[:min(len(o.sample), sampled)]
	}
}

func (o *source) find(hash uint64) (i int, known bool) {
	return slices.BinarySearchFunc(o.sample, hash, func(a shown, hash uint64) int { return cmp.Compare(a.hash, hash) })
}

// expire drops what came more than a day ago.
func (o *source) expire(sec uint32) {
	o.sample = slices.DeleteFunc(o.sample, func(a shown) bool { return a.sec+quiet < sec })
}

// share returns how many of the addresses of the last day are of a CDN, and how many there are.
func (o *source) share(cdn uint8, sec uint32) (of, all int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire(sec)
	for _, a := range o.sample {
		if a.cdn == cdn {
			of++
		}
	}
	return of, len(o.sample)
}

// most reports whether so many of all are nine in ten.
func most(of, all int) bool { return of*10 >= all*9 && of > 0 }

// DoorOf returns what the address of an event is in the second sec, as far as its source tells:
// [Inner], the name of a CDN, or empty for a client's.
func (s *Sources) DoorOf(ev *edgeguard.Event, sec uint32) string {
	if s == nil || !tells(ev) || s.isClient(ev.Addr) {
		return ""
	}
	one := &s.all[ev.Source]
	if IsInner(ev.Addr) {
		if last := one.public.Load(); last == 0 || sec > last && sec-last > quiet {
			return Inner
		}
		return ""
	}
	if cdn := cdnOf(ev.Addr); cdn != 0 && most(one.share(cdn, sec)) {
		return cdns[cdn-1].name
	}
	return ""
}

// DoorOfAny returns what an address is as far as any source tells that has shown anything.
func (s *Sources) DoorOfAny(a netip.Addr, sec uint32) (door string) {
	if s == nil {
		return ""
	}
	for i := 0; i < len(s.all) && door == ""; i++ {
		if one := &s.all[i]; one.inner.Load() || one.public.Load() != 0 {
			door = s.DoorOf(&edgeguard.Event{Addr: a, Kind: edgeguard.KindRequest, Source: uint8(i)}, sec)
		}
	}
	return door
}

// Shown returns what the addresses of the first source are that knows only the front door: none is of the
// Internet, or nine in ten are a CDN's. It is empty where there is no such source.
func (s *Sources) Shown() string {
	for i := range s.all {
		if door := s.ShownBy(uint8(i), s.all[i].public.Load()); door != "" {
			return door
		}
	}
	return ""
}

// ShownBy is Shown of one source, in the second sec.
func (s *Sources) ShownBy(number uint8, sec uint32) string {
	if s == nil {
		return ""
	}
	one := &s.all[number]
	if last := one.public.Load(); one.inner.Load() && (last == 0 || sec > last && sec-last > quiet) {
		return Inner
	}
	for cdn := range cdns {
		if of, all := one.share(uint8(cdn+1), sec); of >= leastShown && most(of, all) {
			return cdns[cdn].name
		}
	}
	return ""
}

// Public returns when a source last showed an address of the Internet; 0 for never.
func (s *Sources) Public(number uint8) (sec uint32) {
	if s == nil {
		return 0
	}
	return s.all[number].public.Load()
}

// Restore sets when a source last showed an address of the Internet, as a process before this one
// saved it.
func (s *Sources) Restore(number uint8, sec uint32) { s.all[number].public.Store(sec) }

// hash mixes an address with the seed.
func (s *Sources) hash(a netip.Addr) uint64 {
	b := a.As16()
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(b[:8])^s.seed^0x9e3779b97f4a7c15, binary.LittleEndian.Uint64(b[8:])^s.seed^0xd1b54a32d192ed03)
	hi, lo = bits.Mul64(hi^lo^s.seed, 0xbf58476d1ce4e5b9)
	return hi ^ lo
}
