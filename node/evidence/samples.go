package evidence

import (
	"container/list"
	"net/netip"
	"strings"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/internal/safetext"
)

// Some of the requests of addresses that are blocked or near a limit are kept, so that an
// operator sees what they asked for. Clients write most of it: each text is cut, kept as its
// bytes, and made harmless where it is returned.
//
// It is bounded in bytes. Keys near a limit have places of their own, so that a flood
// of them pushes out no sample of a blocked key. Nothing of it is written to disk.

const (
	// samplesKeep is for how long a blocked key's samples are kept beyond the block's end,
	// keepNear those of another key after the last one.
	samplesKeep = 24 * time.Hour
	keepNear    = time.Hour
	// bytes is what all samples take at most. keyBytes is what a key takes beside
	// its samples, and recordBytes what each of these takes.
	bytes                 = 16 << 20
	keyBytes, recordBytes = 256, 256
	// nearShare of the keys, at most, are keys that are not blocked.
	nearShare = 4
	// maxMethod, maxPath and maxAgent are in bytes; a record has room for them.
	maxMethod, maxPath, maxAgent = 16, 120, 90
)

// Sample is one request.
type Sample struct {
	Time   time.Time
	Addr   netip.Addr
	Method string
	Path   string // without its query
	Agent  string
	Status uint16 // 0: not known
	// Refused says that a block refused the request.
	Refused bool
}

// record is a sample as it is kept.
type record struct {
	at                  int64 // 0: none
	addr                [16]byte
	status              uint16
	method, path, agent uint8 // lengths of the texts, in their order
	refused             bool
	text                [maxMethod + maxPath + maxAgent]byte
}

// kept is what is kept of a key. The first half of the records is of requests that
// were answered, up to the crossing; the other half of those that were refused. The
// oldest of each half makes room.
type kept struct {
	prefix  netip.Prefix
	blocked bool
	gone    time.Time
	at      *list.Element
	taken   [2]int // of each half
	records []record
}

// Samples keeps samples. It is safe for concurrent use; nil keeps none. Make one with
// [NewSamples].
type Samples struct {
	each int    // samples of a key
	most [2]int // keys near a limit, blocked keys
	room int64  // bytes of all

	mu     sync.Mutex // guards the fields below
	of     map[netip.Prefix]*kept
	oldest [2]list.List // of *kept: of keys near a limit by their last sample, of blocked keys by their first
	idle   [][]record   // of keys that were forgotten
}

// SampleRoom returns how many bytes the samples take at most: each of a key, inside the
// memory of the node. It is a sixteenth of a small memory.
func SampleRoom(memory int64, each int) int64 {
	if each == 0 {
		return 0
	}
	return min(bytes, memory/16)
}

// NewSamples returns an empty one for at most each samples of a key in all of room; nil for
// none.
func NewSamples(each int, room int64) *Samples {
	keys := int(room) / (keyBytes + max(each, 1)*recordBytes)
	if each == 0 || keys < 2*nearShare {
		return nil
	}
	near := keys / nearShare
	return &Samples{each: each, room: room, most: [2]int{near, keys - near}, of: make(map[netip.Prefix]*kept)}
}

// Take keeps a request of the key with this prefix, which is blocked until a time, or
// near a limit if that is zero. The event's texts are copied. It never waits: while
// another sample is taken, this one is left out.
func (s *Samples) Take(now time.Time, prefix netip.Prefix, event *edgeguard.Event, until time.Time) {
	if s == nil || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	blocked := !until.IsZero()
	k := s.key(prefix, blocked)
	if blocked {
		k.gone = until.Add(samplesKeep)
	} else if !k.blocked {
		k.gone = now.Add(keepNear)
	}
	half, records := 0, k.records
	if first := (len(records) + 1) / 2; blocked && first < len(records) {
		half, records = 1, records[first:]
	} else if first < len(records) {
		records = records[:first]
	}
	records[k.taken[half]%len(records)].fill(now, event, blocked)
	k.taken[half]++
}

// key returns the key's place, which may be another's so far. The caller holds the
// lock.
func (s *Samples) key(prefix netip.Prefix, blocked bool) *kept {
	k := s.of[prefix]
	switch {
	case k != nil && blocked == k.blocked:
		if !blocked {
			s.oldest[0].MoveToBack(k.at)
		}
		return k
	case k != nil && k.blocked:
		return k
	case k != nil:
		s.oldest[0].Remove(k.at)
		s.place(k, true)
		return k
	}
	k = &kept{prefix: prefix}
	s.place(k, blocked)
	if n := len(s.idle); n > 0 {
		k.records, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		k.records = make([]record, s.each)
	}
	s.of[prefix] = k
	return k
}

// place puts a key among those that are blocked or not, instead of the oldest there
// if there is no room. The caller holds the lock.
func (s *Samples) place(k *kept, blocked bool) {
	k.blocked = blocked
	of := 0
	if blocked {
		of = 1
	}
	if s.oldest[of].Len() >= s.most[of] {
		s.forget(s.oldest[of].Front().Value.(*kept))
	}
	k.at = s.oldest[of].PushBack(k)
}

// forget wipes a key's samples. The caller holds the lock.
func (s *Samples) forget(k *kept) {
	of := 0
	if k.blocked {
		of = 1
	}
	s.oldest[of].Remove(k.at)
	delete(s.of, k.prefix)
	clear(k.records)
	s.idle = append(s.idle, k.records)
}

// fill makes the record one of the event.
func (r *record) fill(now time.Time, event *edgeguard.Event, refused bool) {
	*r = record{at: now.UnixNano(), addr: event.Addr.As16(), status: event.Status, refused: refused}
	path, _, _ := strings.Cut(event.Path, "?")
	put := func(text string, most int, at uint8) uint8 {
		return uint8(copy(r.text[at:int(at)+most], text))
	}
	r.method = put(event.Method, maxMethod, 0)
	r.path = put(path, maxPath, r.method)
	r.agent = put(event.Agent, maxAgent, r.method+r.path)
}

// sample returns what the record holds, its texts made harmless.
func (r *record) sample() Sample {
	text := func(from, length uint8) string { return safetext.Strip(string(r.text[from : int(from)+int(length)])) }
	return Sample{
		Time: time.Unix(0, r.at).UTC(), Addr: netip.AddrFrom16(r.addr).Unmap(), Status: r.status, Refused: r.refused,
		Method: text(0, r.method), Path: text(r.method, r.path), Agent: text(r.method+r.path, r.agent),
	}
}

// Changed notes a block's new end: it was extended, shortened or lifted.
func (s *Samples) Changed(b edgeguard.Block, now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[b.Prefix]; k != nil && k.blocked {
		if k.gone = b.Until.Add(samplesKeep); b.Lifted {
			k.gone = now.Add(samplesKeep)
		}
	}
}

// Of returns the samples of exactly a prefix's key in no order.
func (s *Samples) Of(prefix netip.Prefix, now time.Time) []Sample {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of[prefix]
	if k == nil || !now.Before(k.gone) {
		return nil
	}
	var out []Sample
	for i := range k.records {
		if k.records[i].at != 0 {
			out = append(out, k.records[i].sample())
		}
	}
	return out
}

// Sweep wipes what is no longer kept.
func (s *Samples) Sweep(now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.of {
		if !now.Before(k.gone) {
			s.forget(k)
		}
	}
}

// Most returns how many bytes the samples take at most.
func (s *Samples) Most() int64 {
	if s == nil {
		return 0
	}
	return s.room
}

// Used returns how many bytes the samples take.
func (s *Samples) Used() int64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.of)+len(s.idle)) * int64(keyBytes+s.each*recordBytes)
}
