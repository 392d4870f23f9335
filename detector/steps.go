package detector

import (
	"encoding/binary"
	"hash/maphash"
	"iter"
	"net/netip"
	"sync"
	"time"
)

// steps remembers who was blocked before. It is kept by rule name, so that a
// new threshold or a new list of steps does not pardon any client. Safe for
// concurrent use; asked only when a block is made.
//
// Its records hold no pointers and stay in one slice: a flood of blocks fills it,
// and the garbage collector passes it by.
type steps struct {
	mu    sync.Mutex        // guards all below
	rules []string          // names by number; as many as operators ever gave to rules
	named map[string]uint32 // numbers by name
	// heads has the first place in all by a key's hash, 0 for none; nil before the
	// first block. A map would keep twice as much beside the records.
	heads []int32
	seed  maphash.Seed
	n     int
	// all has at 0 the anchor of a ring: its next is the one whose block was made
	// longest ago, its prev the last.
	all  []stepRecord
	free int32 // the first free place, 0 for none
}

type stepKey struct {
	high, low uint64 // of the address's 16 bytes
	rule      uint32
	bits      uint8
	v4        bool
}

type stepRecord struct {
	key                  stepKey
	since, until         int64 // seconds since 1970, and what is over in nanoseconds
	sinceNano, untilNano uint32
	blocks               uint32
	counted              uint32
	prev, next           int32
	chained              int32 // the next place of the same hash, or of the free ones
}

func newSteps() *steps {
	return &steps{named: make(map[string]uint32), seed: maphash.MakeSeed(), all: make([]stepRecord, 1)}
}

func keyOf(rule uint32, p netip.Prefix) stepKey {
	b := p.Addr().As16()
	return stepKey{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]), rule, uint8(p.Bits()), p.Addr().Is4()}
}

func (k *stepKey) prefix() netip.Prefix {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], k.high)
	binary.BigEndian.PutUint64(b[8:], k.low)
	addr := netip.AddrFrom16(b)
	if k.v4 {
		addr = addr.Unmap()
	}
	return netip.PrefixFrom(addr, int(k.bits))
}

// step returns a record as others see it.
func (r *stepRecord) step(rules []string) Step {
	return Step{
		Rule: rules[r.key.rule], Prefix: r.key.prefix(), Blocks: int(r.blocks), Counted: r.counted,
		Since: time.Unix(r.since, int64(r.sinceNano)).UTC(), Until: r.ends(),
	}
}

func (r *stepRecord) ends() time.Time { return time.Unix(r.until, int64(r.untilNano)).UTC() }

func (r *stepRecord) setEnd(until time.Time) {
	r.until, r.untilNano = until.Unix(), uint32(until.Nanosecond())
}

// over reports that a record may be forgotten.
func (r *stepRecord) over(now time.Time) bool { return !now.Before(r.ends().Add(stepMemory)) }

// find returns a key's record, nil if none is remembered. It needs the lock.
func (s *steps) find(rule string, prefix netip.Prefix) *stepRecord {
	number, known := s.named[rule]
	if !known {
		return nil
	}
	place := *s.at(keyOf(number, prefix))
	if place == 0 {
		return nil
	}
	return &s.all[place]
}

// at returns where the place of a key's record stands, or is to stand: after those
// of the same hash. It needs the lock, and heads.
func (s *steps) at(key stepKey) *int32 {
	link := &s.heads[maphash.Comparable(s.seed, key)%maxSteps]
	for *link != 0 && s.all[*link].key != key {
		link = &s.all[*link].chained
	}
	return link
}

// lastStep returns the key's step; the zero one if none is remembered.
func (s *steps) lastStep(rule string, prefix netip.Prefix, now time.Time) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(rule, prefix); r != nil && !r.over(now) {
		return r.step(s.rules)
	}
	return Step{}
}

// noteStep remembers a block as the key's last.
func (s *steps) noteStep(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heads == nil {
		s.heads = make([]int32, maxSteps)
	}
	key := keyOf(s.number(step.Rule), step.Prefix)
	if known := *s.at(key); known != 0 {
		s.drop(known)
	}
	place := s.place()
	*s.at(key) = place
	r := &s.all[place]
	*r = stepRecord{key: key, blocks: uint32(step.Blocks), counted: step.Counted}
	r.since, r.sinceNano = step.Since.Unix(), uint32(step.Since.Nanosecond())
	r.setEnd(step.Until)
	r.prev, r.next = s.all[0].prev, 0
	s.all[r.prev].next, s.all[0].prev = place, place
}

// number returns a rule's number. It needs the lock.
func (s *steps) number(rule string) uint32 {
	number, known := s.named[rule]
	if !known {
		number = uint32(len(s.rules))
		s.rules, s.named[rule] = append(s.rules, rule), number
	}
	return number
}

// place makes room for one more. It needs the lock.
func (s *steps) place() int32 {
	if s.n >= maxSteps {
		s.drop(s.all[0].next)
	}
	s.n++
	if place := s.free; place != 0 {
		s.free = s.all[place].chained
		return place
	}
	s.all = append(s.all, stepRecord{})
	return int32(len(s.all) - 1)
}

// isFull reports whether one more key is remembered for another.
func (s *steps) isFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n >= maxSteps
}

// prolong moves the end of the key's last block.
func (s *steps) prolong(rule string, prefix netip.Prefix, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(rule, prefix); r != nil {
		r.setEnd(until)
	}
}

// restoreStep forgets the key's last block: before is what was remembered when it was made.
func (s *steps) restoreStep(rule string, prefix netip.Prefix, before Step) {
	if before.Blocks > 0 {
		s.noteStep(before)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if number, known := s.named[rule]; known {
		if place := *s.at(keyOf(number, prefix)); place != 0 {
			s.drop(place)
		}
	}
}

// takeBack forgets the key's last block if it is in force at now.
func (s *steps) takeBack(rule string, prefix netip.Prefix, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(rule, prefix)
	switch {
	case r == nil || !now.Before(r.ends()):
	case r.blocks > 1:
		r.blocks, r.counted = r.blocks-1, 0
	default:
		s.drop(*s.at(r.key))
	}
}

// clear forgets every key inside prefixes.
func (s *steps) clear(set prefixSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for place := s.all[0].next; place != 0; {
		next := s.all[place].next
		if set.contains(s.all[place].key.prefix()) {
			s.drop(place)
		}
		place = next
	}
}

// sweep forgets what has ended among the oldest, at most n of them.
func (s *steps) sweep(now time.Time, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; n > 0; n-- {
		first := s.all[0].next
		if first == 0 || !s.all[first].over(now) {
			return
		}
		s.drop(first)
	}
}

// drop forgets one. It needs the lock.
func (s *steps) drop(place int32) {
	r := &s.all[place]
	s.all[r.prev].next, s.all[r.next].prev = r.next, r.prev
	*s.at(r.key) = r.chained
	r.chained, s.free = s.free, place
	s.n--
}

// allSteps returns all, the one whose block was made longest ago first, as they were
// when the iteration began: no lock is held.
func (s *steps) allSteps() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		s.mu.Lock()
		all := make([]stepRecord, 0, s.n)
		for place := s.all[0].next; place != 0; place = s.all[place].next {
			all = append(all, s.all[place])
		}
		rules := s.rules // it only grows
		s.mu.Unlock()
		for i := range all {
			if !yield(all[i].step(rules)) {
				return
			}
		}
	}
}
