// Package outage tells a site that fails from clients that misbehave, by the
// addresses that succeeded before and only fail now. What it is asked is whether
// failures of a moment say anything of who sent them.
//
// A scope (a host of ours, or a source) is armed for a step of ten seconds when, in
// the minute before it,
//
//   - addresses with a success are at most a fifth of their mean a minute over the
//     thirty calendar minutes before, that mean being at least 20. To become armed, the
//     same must hold of the last five of these, as a site that grows quiet does so slowly;
//   - at least ten addresses only failed that succeeded in the half hour before, and
//     at least four for each that succeeded.
//
// An address is an IPv4 address or a /64, and at most three of a /24 or a /48 count:
// the last that succeeded. Silence never arms, as nobody fails in it. At most twelve
// minutes of the last hour are armed in each scope.
package outage

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

const (
	stepSeconds = 10
	minuteSteps = 60 / stepSeconds
	windowSteps = minuteSteps // what is judged
	recallSteps = 30 * minuteSteps
	hourSteps   = 60 * minuteSteps
	budgetSteps = 12 * minuteSteps // of an hour

	// origin is the step of second 0: no difference of steps is below zero, and 0 is never.
	origin = 2 * hourSteps

	// MostScopes is how many scopes are judged; the others are never excused.
	MostScopes = 64
)

// Watch judges scopes. One goroutine at a time may use it.
//
// What we refuse ourselves must not be shown to it: a block of ours would look like a
// failing site to it, and it would hold back the rule that made the block.
type Watch struct {
	// Armed and Disarmed are called when a scope becomes so, with the first second that
	// is, from inside See: they may not call the Watch. Nil disables them.
	Armed, Disarmed func(scope uint8, sec uint32)
	// Late counts answers that were more than a minute late. They were not counted, and
	// not excused.
	Late uint64

	seed   [2]uint64
	now    uint32            // the newest step that an answer was seen in; 0 is none
	from   uint32            // its first second
	step   uint64            // what it is in seen
	armed  [ringSteps]uint64 // by step: a bit for each scope that was armed
	seen   [1 << 12]uint64   // answers of this step, by hash: address, scope, success or not
	before before
	scopes [MostScopes]scope
	known  uint64 // those that had a success, a bit each: of the others nothing is to be said
}

// New returns a Watch that has seen nothing. The seed is secret: who knows it can
// choose addresses that are in the sample of a busy site.
func New(seed uint64) *Watch {
	a, b := bits.Mul64(seed^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	g := &Watch{seed: [2]uint64{a ^ seed, (b ^ bits.RotateLeft64(seed, 29)) | 1}}
	for i := range g.scopes {
		g.scopes[i].sample = ^uint64(0)
	}
	return g
}

// CountAnswer counts an answer to an address in a scope at a second, a success or a failure,
// and reports whether failures of that moment are excused. The address is unmapped and
// without a zone. An answer that is late by up to a minute counts in its own step,
// of which it was decided before whether it is armed; a success counts only if none of
// this address is newer.
func (g *Watch) CountAnswer(scope uint8, sec uint32, addr netip.Addr, ok bool) (excused bool) {
	// Most answers say what the step knows already. Nothing is called on the way, so that
	// nothing is kept in memory for a call.
	if sec-g.from < stepSeconds && scope < MostScopes {
		var word, what uint64
		if addr.Is4() {
			word = word4(addr)
		} else {
			word = word6(addr)
		}
		if ok {
			what = 1
		}
		h := g.keyedHash(word)
		if g.seen[h%uint64(len(g.seen))] == h^g.step^uint64(scope)<<1^what {
			return g.armed[g.now%ringSteps]>>scope&1 != 0
		}
	}
	return g.see(scope, sec, addr, ok)
}

// see counts an answer that this step does not know yet.
func (g *Watch) see(scope uint8, sec uint32, addr netip.Addr, ok bool) (excused bool) {
	step := g.reach(sec)
	if step == 0 || scope >= MostScopes {
		return false
	}
	word, key := split(addr)
	what := uint64(scope) << 1
	if ok {
		what |= 1
		g.known |= 1 << scope
		g.succeed(&g.scopes[scope], word, key, step)
	} else {
		g.scopes[scope].noteFailure(key, g.keyedHash(key), word, step)
	}
	if h := g.keyedHash(word); step == g.now {
		g.seen[h%uint64(len(g.seen))] = h ^ g.step ^ what
	}
	return g.armed[step%ringSteps]>>scope&1 != 0
}

func (g *Watch) succeed(s *scope, word, key uint64, step uint32) {
	h := g.keyedHash(key)
	e := s.findGroup(key, h)
	p := e.place(word)
	if p == places {
		g.before.add(g.keyedHash(word), step)
		if h <= s.sample {
			s.admit(g, key, word, step)
		}
		return
	}
	was := e.succeeded[p]
	if was/minuteSteps != step/minuteSteps {
		g.before.add(g.keyedHash(word), step)
	}
	if was >= step {
		return
	}
	if was/minuteSteps != step/minuteSteps {
		s.visitors[step/minuteSteps%minuteRing] += s.scale()
	}
	s.uncount(g.now, was)
	s.latest[step%ringSteps]++
	e.succeeded[p] = step
}

// IsExcused reports whether failures in a scope at a second are excused, and counts nothing: for
// answers that say nothing of the site, such as those for a missing image.
func (g *Watch) IsExcused(scope uint8, sec uint32) bool {
	step := sec/stepSeconds + origin
	if step > g.now {
		g.advance(step)
	}
	return scope < MostScopes && g.now-step <= windowSteps && g.armed[step%ringSteps]>>scope&1 != 0
}

// Succeeded reports whether an address succeeded in any scope in the half hour before
// a second, or up to a quarter of an hour on either side of that. It may say so of one
// that did not (one in sixty at 30,000 addresses in each quarter of an hour), and
// never denies it of one that did.
func (g *Watch) Succeeded(addr netip.Addr, sec uint32) bool {
	word, _ := split(addr)
	return g.before.has(g.keyedHash(word), sec/stepSeconds+origin)
}

// reach returns the step of a second and makes it the current one if it is newer; 0
// if it is too late to be counted.
func (g *Watch) reach(sec uint32) uint32 {
	step := sec/stepSeconds + origin
	switch {
	case step > g.now:
		g.advance(step)
	case g.now-step > windowSteps:
		g.Late++
		return 0
	}
	return step
}

// split returns an address as one word, and the key of its /24 or /48.
func split(addr netip.Addr) (word, key uint64) {
	if addr.Is4() {
		word = word4(addr)
		return word, key4(word)
	}
	word = word6(addr)
	return word, key6(word)
}

func word4(addr netip.Addr) uint64 {
	b := addr.As4()
	return uint64(binary.BigEndian.Uint32(b[:]))
}

// word6 appends, because what As16 returns is copied by a load of 16 bytes right behind two
// stores of 8, for which the processor waits: twice the time.
func word6(addr netip.Addr) uint64 {
	var room [16]byte
	b, _ := addr.AppendBinary(room[:0])
	if len(b) < 16 {
		return 0 // the zero Addr
	}
	return binary.BigEndian.Uint64(b)
}

// key4 returns the key of an IPv4 network, key6 that of an IPv6 network. Keys are never
// 0, and those of the two families differ.
func key4(word uint64) uint64 { return word>>8 | 1<<62 }
func key6(word uint64) uint64 { return word>>16 | 1<<63 }

// keyedHash is keyed. Its first and its last bits are good for networks in a row, too.
func (g *Watch) keyedHash(word uint64) uint64 {
	h := (word ^ g.seed[0]) * g.seed[1]
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}
