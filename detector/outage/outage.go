// Package outage tells a site that fails from clients that misbehave, by the
// addresses that succeeded before and only fail now. What it is asked is whether
// failures of a moment say anything of who sent them.
//
// A scope (a host of ours, or a source) is armed for a step of ten seconds when, in
// the minute before it,
//
//   - addresses with a success are at most a fifth of their mean a minute over the
//     thirty calendar minutes before, that mean being at least 20; and
//   - of the addresses seen that succeeded, then or in the half hour before, at least
//     four fifths only fail, and these are at least ten.
//
// An address is an IPv4 address or a /64, and at most three of a /24 or a /48 count:
// the last that succeeded. Silence never arms, as nobody fails in it. At most ten
// minutes of the last hour are armed, all scopes together.
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
	budgetSteps = 10 * minuteSteps // of an hour

	// origin is the step of second 0: no difference of steps is below zero, and 0 is never.
	origin = 2 * hourSteps

	// MostScopes is how many scopes are judged; the others are never held.
	MostScopes = 64
)

// Guard judges scopes. One goroutine at a time may use it.
//
// What we refuse ourselves must not be shown to it: a block of ours would look like a
// failing site to it, and it would hold back the rule that made the block.
type Guard struct {
	// Armed and Disarmed are called when a scope becomes so, with the first second that
	// is, from inside See: they may not call the Guard. Nil disables them.
	Armed, Disarmed func(scope uint8, sec uint32)
	// Late counts answers that were more than a minute late. They were not counted, and
	// not held.
	Late uint64

	seed   [2]uint64
	now    uint32 // the newest step that an answer was seen in; 0 is none
	from   uint32 // its first second
	budget budget
	before before
	scopes [MostScopes]scope
}

// New returns a Guard that has seen nothing. The seed is secret: who knows it can
// choose addresses that are in the sample of a busy site.
func New(seed uint64) *Guard {
	a, b := bits.Mul64(seed^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	g := &Guard{seed: [2]uint64{a ^ seed, (b ^ bits.RotateLeft64(seed, 29)) | 1}}
	for i := range g.scopes {
		g.scopes[i].sample = ^uint64(0)
	}
	return g
}

// See counts an answer to an address in a scope at a second, a success or a failure,
// and reports whether failures of that moment are held. The address is unmapped and
// without a zone. An answer that is late by up to a minute counts in its own step,
// of which it was decided before whether it is armed; a success counts only if none of
// this address is newer.
func (g *Guard) See(scope uint8, sec uint32, addr netip.Addr, ok bool) (held bool) {
	step := g.now
	if sec-g.from >= stepSeconds || step == 0 {
		if step = g.reach(sec); step == 0 {
			return false
		}
	}
	if scope >= MostScopes {
		return false
	}
	s := &g.scopes[scope]
	word, key, low := split(addr)
	if h := g.hash(key); h <= s.sample {
		e := s.find(key, h)
		switch p := e.place(low); {
		case !ok:
			if p >= 0 && e.failed[p] < step {
				e.failed[p] = step
			}
		case p < 0:
			g.before.add(g.hash(word), step)
			s.admit(g, key, low, step)
		case e.succeeded[p] < step:
			if e.succeeded[p]/minuteSteps != step/minuteSteps {
				g.before.add(g.hash(word), step)
			}
			s.move(g, e, p, step)
		}
	} else if ok {
		g.before.add(g.hash(word), step)
	}
	return s.armed>>(g.now-step)&1 != 0
}

// Held reports whether failures in a scope at a second are held, and counts nothing: for
// answers that say nothing of the site, such as those for a missing image.
func (g *Guard) Held(scope uint8, sec uint32) bool {
	step := sec/stepSeconds + origin
	if step > g.now {
		g.reach(sec)
	}
	return scope < MostScopes && g.now-step <= windowSteps && g.scopes[scope].armed>>(g.now-step)&1 != 0
}

// Succeeded reports whether an address succeeded in any scope in the half hour before
// a second, or up to a quarter of an hour on either side of that. It may say so of one
// that did not (one in a hundred at 30,000 addresses in a quarter of an hour), and
// never denies it of one that did.
func (g *Guard) Succeeded(addr netip.Addr, sec uint32) bool {
	word, _, _ := split(addr)
	return g.before.has(g.hash(word), sec/stepSeconds+origin)
}

// reach returns the step of a second and makes it the current one if it is newer; 0
// if it is too late to be counted.
func (g *Guard) reach(sec uint32) uint32 {
	step := sec/stepSeconds + origin
	switch {
	case step > g.now:
		g.advance(step)
		g.from = sec - sec%stepSeconds
	case g.now-step > windowSteps:
		g.Late++
		return 0
	}
	return step
}

// split returns an address as one word, the key of its /24 or /48, which is never 0, and
// the rest of the address in that.
func split(addr netip.Addr) (word, key uint64, low uint16) {
	if addr.Is4() {
		b := addr.As4()
		word = uint64(binary.BigEndian.Uint32(b[:]))
		return word, word>>8 | 1<<62, uint16(b[3])
	}
	b := addr.As16()
	word = binary.BigEndian.Uint64(b[:])
	return word, word>>16 | 1<<63, uint16(word)
}

// hash is of the quality that a table needs, and keyed.
func (g *Guard) hash(word uint64) uint64 {
	hi, lo := bits.Mul64(word^g.seed[0], g.seed[1])
	hi, lo = bits.Mul64(hi^lo^g.seed[0], 0x9e3779b97f4a7c15)
	return hi ^ lo
}
