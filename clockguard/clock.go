// Package clockguard is the only reader of the clock for slots. It turns
// readings of the wall clock and of the monotonic clock into a local time that
// never steps, freezes or goes back. It keeps the offset between that and the
// epoch, and reports the steps of the wall clock. It also finds how far the
// wall clock is from that of a server which all nodes ask, and holds the
// arithmetic of slot numbers.
//
// Only [Read] touches the real clock; the rest is arithmetic on what it read.
// It starts no goroutine and talks to no one: its owner calls [Clock.Observe]
// about once a second, and asks the server.
//
//	server ──Sample──▶ Skew ──Correct─┐
//	                                  ▼
//	wall, mono ──Observe──────────▶ Clock ──Now──▶ local time ──Slot──▶ slots of this node
//	                                  │
//	                               Offset ──Epoch──▶ what other nodes and files get
package clockguard

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// SlewRate is how fast small differences are worked off, in parts per
	// million: 500, the most that adjtime(3) and the kernel's NTP discipline
	// use, 43 s a day.
	SlewRate = 500
	// DefaultStep is the jump of the wall clock that counts as a step: 128 ms,
	// as in ntpd (RFC 5905, STEPT).
	DefaultStep = 128 * time.Millisecond
	// settle is how long after a reading a new course begins, so that it does
	// not matter how long an Observe took: a reader during it gets the old
	// course, and no reader's time goes back.
	settle = time.Second
	// DefaultAlign is the default slot: see Config.
	DefaultAlign = 5 * time.Second
	// MaxCorrection is the most that is corrected: half a default slot, 83
	// minutes of slewing. A node that is further off needs its clock fixed, or
	// asked a server that does.
	MaxCorrection = 2500 * time.Millisecond
)

// Config says how a clock follows the wall clock.
type Config struct {
	// Step is the least jump between two readings that is reported;
	// 0 means DefaultStep. Lesser ones are slewed away.
	Step time.Duration
	// Align is what the offset to the epoch is a multiple of, so that local
	// slots keep beginning with all others': a common multiple of the
	// slots in use. 0 means DefaultAlign. What a step leaves beside it, half
	// of Align at most, is slewed away.
	Align time.Duration
}

// Clock is a node's time. Now and At are safe for concurrent use and take no
// lock; so is Observe, which takes one. Make one with [New].
type Clock struct {
	config Config
	run    atomic.Pointer[run]

	mu         sync.Mutex // guards what follows, and the writing of run
	last       Reading
	correction time.Duration // to the wall clock, in force from the next Observe on
}

// Step is a jump of the wall clock against the monotonic one.
type Step struct {
	At time.Time     // local time at which it was noticed
	By time.Duration // positive where the wall clock jumped ahead
}

// New makes a clock whose local time is the reading's wall time.
func New(first Reading, c Config) *Clock {
	if c.Step <= 0 {
		c.Step = DefaultStep
	}
	if c.Align <= 0 {
		c.Align = DefaultAlign
	}
	clock := &Clock{config: c, last: first}
	clock.run.Store(&run{mono: first.Mono, local: first.wall()})
	return clock
}

// Observe accepts a reading not more than a second old: it notices a step,
// and sets course for the wall clock. Readings whose monotonic part is older
// than one already accepted are ignored.
func (c *Clock) Observe(r Reading) (step Step, stepped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	elapsed := r.Mono - c.last.Mono
	if elapsed < 0 {
		return Step{}, false
	}
	jump := r.wall().Sub(c.last.wall()) - elapsed
	c.last = r
	// Between readings the wall clock may itself be slewed, at SlewRate.
	stepped = jump.Abs() >= c.config.Step+slewed(elapsed)

	course := c.run.Load()
	begin := r.Mono + settle
	// What the course has of a correction is none of the wall clock's doing,
	// and must never look like a step of it.
	corrected := course.correctedAt(begin)
	apart := r.wall().Add(settle + corrected).Sub(course.at(begin).Add(course.offset))
	// Without a step the offset keeps still until a whole Align has gathered
	// (from jumps too small to report), so that it does not flap where half of
	// one is left.
	whole := apart.Truncate(c.config.Align)
	if stepped {
		whole = apart.Round(c.config.Align)
	}
	c.run.Store(course.next(r.Mono, begin, apart-whole, whole, c.correction-corrected))

	switch at := course.at(r.Mono); {
	case stepped:
		return Step{At: at, By: jump}, true
	case whole != 0:
		return Step{At: at, By: whole}, true
	}
	return Step{}, false
}

// Correct sets what must be added to the wall clock: from the next Observe
// on, that sum is what the local time follows. It is slewed away, beside what a
// step has left, and is not a step. More than MaxCorrection either way is not
// followed: the previous correction stays in use, and followed is false.
func (c *Clock) Correct(by time.Duration) (followed bool) {
	if by > MaxCorrection || by < -MaxCorrection {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.correction = by
	return true
}

// Now reads the monotonic clock and returns the local time: what live sensors
// stamp events with. Slots, windows and the ends of blocks are reckoned in it.
func (c *Clock) Now() time.Time { return c.At(Read().Mono) }

// At returns the local time at a monotonic reading of now or of the second
// before the last Observe. It does not go back where mono does not.
func (c *Clock) At(mono time.Duration) time.Time { return c.run.Load().at(mono) }

// Offset is what must be added to local time to get the epoch's: 0 until the
// wall clock steps, and always a multiple of Config.Align.
func (c *Clock) Offset() time.Duration { return c.run.Load().offset }

// Epoch maps a local time to the epoch's: what is sent to other nodes, to
// files and to people.
func (c *Clock) Epoch(local time.Time) time.Time { return local.Add(c.Offset()) }

// Local maps a time that came from outside to local time.
func (c *Clock) Local(epoch time.Time) time.Time { return epoch.Add(-c.Offset()) }
