package detector

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"sync"
	"time"

	"edgeguard"
)

// Spoofed floods: packets from ever new sources that no count of one address can see, because
// each source sends only a few. It counts the fresh sources of a second, those that were not
// seen for five minutes at least, and subtracts the ones that complete a handshake or send a
// request within three seconds. So a flash crowd is no flood. A flood blocks no address: its
// sources are whatever its sender wrote.
//
// What is seen in one direction only shows no handshake. There a flash crowd looks
// like a flood.
//
// The memory is bounded: four sketches of 1 MiB, made with the first event whose
// source can be forged. A sketch that is full is replaced early, so that a flood
// of any size stays visible. Telling new keys in the shard's tables was rejected:
// these hold what rules count, under the rules' keys, and forget for room.

// FloodConfig says when an incident begins.
type FloodConfig struct {
	// Sources is how many fresh sources a second begin an incident, whatever is
	// usual; 0 for no such number.
	Sources uint32
	// Times is how many times as many as usual begin one, with leastTimes at
	// least; 0 for no such number.
	Times uint32
}

// Incident is one spoofed flood.
type Incident struct {
	Begin time.Time
	// End is the end of the last second that was over half of what began it; zero
	// while the flood lasts.
	End time.Time
	// Peak is the greatest number of fresh sources in a second, at PeakAt.
	Peak   uint32
	PeakAt time.Time
	// Sources is how many fresh sources there were in all.
	Sources uint64
}

// SpoofedFlood is a watch's counters, as the API shows them.
type SpoofedFlood struct {
	Fresh   uint64 `json:"fresh"`   // fresh sources that completed nothing
	Floods  uint64 `json:"floods"`  // incidents that began
	Lasting bool   `json:"lasting"` // one lasts now
}

// mostEnded is how many ended incidents wait for [FloodWatch.JudgeSeconds]. Each is a minute
// after the one before, so that a watch which is looked at keeps one at most.
const mostEnded = 1000

// FloodWatch counts fresh sources. It is safe for concurrent use. A nil one watches
// nothing.
type FloodWatch struct {
	seed uint64

	mu     sync.Mutex // guards all below
	config FloodConfig
	seen   *sketch // sources of any event; nil until one could be forged
	proven *sketch // sources that completed a handshake or sent a request

	// pending are the fresh sources of the seconds that are not judged yet, the
	// newest at second; a proof is credited to the oldest.
	pending [grace + 1]uint32
	second  int64

	usual   average
	lasting bool
	current Incident
	last    int64 // the newest second of current that was over half
	ended   []Incident
	fresh   uint64
	floods  uint64
}

// NewFloodWatch returns a watch. The seed is random in production, so that no sender can
// choose sources that collide.
func NewFloodWatch(c FloodConfig, seed uint64) *FloodWatch {
	return &FloodWatch{config: c, seed: seed}
}

// SetConfig replaces the config. What was learned and a flood that lasts are kept.
func (w *FloodWatch) SetConfig(c FloodConfig) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.config = c
}

// CountSources counts the sources of some events at the instant now.
func (w *FloodWatch) CountSources(now time.Time, events []edgeguard.Event) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.config == (FloodConfig{}) {
		return
	}
	if w.seen == nil {
		if !anyForgeable(events) {
			return // as long as a node only reads logs and answers proxies
		}
		w.seen, w.proven = newSketch(), newSketch()
		w.second = now.Unix()
	}
	w.advance(now.Unix())
	for len(events) > 0 {
		n := min(len(events), batchSize)
		w.noteSome(events[:n])
		events = events[n:]
	}
}

// noteSome counts the sources of up to batchSize events. Nearly all are known and prove
// nothing: these are found first, so that their cache misses overlap.
func (w *FloodWatch) noteSome(events []edgeguard.Event) {
	w.seen.beginGeneration(w.second)
	var hashes [batchSize]uint64
	var rest eventSet
	for i := range events {
		hashes[i%batchSize] = sourceHash(events[i].Addr, w.seed)
	}
	for i := range events {
		if events[i].Verified != 0 || !w.seen.has(hashes[i%batchSize]) {
			rest.add(i)
		}
	}
	for ; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(uint64(rest))
		w.note(hashes[i%batchSize], events[i].Verified != 0)
	}
}

func anyForgeable(events []edgeguard.Event) bool {
	for i := range events {
		if events[i].Verified == 0 {
			return true
		}
	}
	return false
}

func (w *FloodWatch) note(h uint64, verified bool) {
	fresh := w.seen.add(h)
	if !verified {
		if fresh {
			w.pending[place(w.second)]++
		}
		return
	}
	if w.proven.beginGeneration(w.second); w.proven.add(h) && !fresh {
		w.credit()
	}
}

// credit takes one fresh source back: it has completed a handshake, and the oldest
// are credited first because the newest may still do so.
func (w *FloodWatch) credit() {
	for sec := w.second - grace; sec <= w.second; sec++ {
		if n := &w.pending[place(sec)]; *n > 0 {
			*n--
			return
		}
	}
}

// sourceHash returns the hash of what counts as one source: an IPv4 address, or an IPv6
// /64, which is one host's.
func sourceHash(addr netip.Addr, seed uint64) uint64 {
	var source uint64
	if addr.Is4() {
		b := addr.As4()
		source = uint64(binary.LittleEndian.Uint32(b[:])) << 32 // no client's IPv6 address begins with four zero bytes
	} else {
		b := addr.As16()
		source = binary.LittleEndian.Uint64(b[:8])
	}
	return floodMix(floodMix(source^seed, 0x9e3779b97f4a7c15), seed|1)
}

// floodMix is the step of wyhash (Wang Yi, 2019): a full multiplication, folded.
func floodMix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return high ^ low
}

// JudgeSeconds judges the seconds before now. It returns the incident that lasts, if there
// is one, and those that ended since the last look.
func (w *FloodWatch) JudgeSeconds(now time.Time) (current Incident, lasting bool, ended []Incident) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen != nil {
		w.advance(now.Unix())
	}
	ended, w.ended = w.ended, nil
	return w.current, w.lasting, ended
}

// Finish judges all seconds and ends the incident that lasts. It returns the
// incidents since the last look: no event may follow.
func (w *FloodWatch) Finish() []Incident {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		return nil
	}
	w.advance(w.second + grace + 1 + quiet)
	return w.ended
}

// Figures returns the counters.
func (w *FloodWatch) Figures() SpoofedFlood {
	w.mu.Lock()
	defer w.mu.Unlock()
	return SpoofedFlood{Fresh: w.fresh, Floods: w.floods, Lasting: w.lasting}
}
