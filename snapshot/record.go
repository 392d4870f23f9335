package snapshot

import (
	"math"
	"net/netip"
	"time"

	"edgeguard"
)

// Cut is when and where a snapshot was taken.
type Cut struct {
	// Node is the node's name, for people.
	Node string
	// Taken is the time of the cut, on the clock that the windows' slots and
	// the blocks' times are reckoned in.
	Taken time.Time
	// Offset is added to every time and every slot that is written, to make
	// them the epoch's: clockguard's Clock.Offset. It is 0 after Load.
	Offset time.Duration
}

func (e *encoder) cut(c *Cut) {
	e.text(c.Node)
	e.time(c.Taken.Add(c.Offset))
}

func (d *decoder) cut(c *Cut) {
	c.Node = d.text()
	c.Taken = d.time()
}

// shift is the offset in slots of width seconds.
func (c *Cut) shift(width uint32) int64 {
	return int64(c.Offset / (time.Duration(max(width, 1)) * time.Second))
}

// slotAt is the number of the slot of width seconds that t lies in.
func slotAt(t time.Time, width uint32) uint32 {
	return clampSlot(t.Unix() / int64(max(width, 1)))
}

func clampSlot(n int64) uint32 {
	return uint32(min(max(n, 0), math.MaxUint32))
}

// Meter says whose windows follow.
type Meter struct {
	// Fingerprint identifies what is counted, as rules.Meter has it.
	Fingerprint string
	// Width is the seconds of a slot, at least 1.
	Width uint32
}

func (e *encoder) meter(m *Meter) {
	e.text(m.Fingerprint)
	e.uint(uint64(m.Width))
	e.flags() // none is defined
}

func (d *decoder) meter(m *Meter) {
	m.Fingerprint = d.text()
	m.Width = d.uint32()
	d.flags()
	if m.Width == 0 {
		d.fail("a slot of 0 seconds")
	}
}

// Block is a block or an allowance, or the tombstone of one, as a blocklist
// remembers it.
type Block struct {
	edgeguard.Block
	// Forced says that an operator insisted; Distant, that this was on another node.
	Forced, Distant bool
	// Signed says that this node made the record while it had a fleet key, or
	// verified its MAC.
	Signed bool
	// Elsewhere says that it is in force on another node's word alone, and then Share is
	// the part of the requests that it was charged with.
	Elsewhere bool
	// Held says that the block is not in force: it has waited for a word since
	// At, when it would have refused Share (0 to 1) of the requests.
	Held  bool
	Share float64
	At    time.Time
}

func (e *encoder) block(b *Block, offset time.Duration) {
	e.prefix(b.Prefix, false)
	e.flags(b.Forced, b.Lifted, b.Proxied, b.Allow, b.Held, b.Signed, b.Distant, b.Elsewhere)
	e.text(b.Rule)
	e.text(b.Reason)
	e.text(b.Origin)
	e.uint(uint64(b.Marked()))
	e.uint(uint64(b.Limit))
	e.uint(b.Version)
	e.time(shifted(b.Since, offset))
	e.time(shifted(b.Until, offset))
	if b.Held || b.Elsewhere {
		e.fixed64(math.Float64bits(b.Share))
	}
	if b.Held {
		e.time(shifted(b.At, offset))
	}
}

func (d *decoder) block(b *Block) {
	b.Prefix, _ = d.prefix()
	d.flags(&b.Forced, &b.Lifted, &b.Proxied, &b.Allow, &b.Held, &b.Signed, &b.Distant, &b.Elsewhere)
	b.Rule = d.text()
	b.Reason = d.text()
	b.Origin = d.text()
	b.Count, b.Batch = 0, 0
	marked := d.uint32()
	b.Unmark(marked, d.uint32())
	b.Version = d.uint()
	b.Since = d.time()
	b.Until = d.time()
	b.Share, b.At = 0, time.Time{}
	if b.Held || b.Elsewhere {
		if b.Share = math.Float64frombits(d.fixed64()); !(b.Share >= 0 && b.Share <= 1) {
			d.fail("not a share of the requests: %v", b.Share)
		}
	}
	if b.Held {
		b.At = d.time()
	}
}

// isUseless reports whether the block is of no more use at now. A tombstone
// is of use for a while after its end, which the list knows.
func (b *Block) isUseless(now time.Time) bool {
	return !b.Lifted && !now.Before(b.Until)
}

// Step is how far a key has come on the steps of a rule that escalates. Its fields
// are those of detector.Step, so that one converts to the other.
type Step struct {
	Rule         string
	Prefix       netip.Prefix
	Blocks       int
	Since, Until time.Time
	Counted      uint32
}

func (e *encoder) step(s *Step, offset time.Duration) {
	e.text(s.Rule)
	e.prefix(s.Prefix, false)
	e.uint(uint64(max(s.Blocks, 0)))
	e.time(shifted(s.Until, offset))
	e.time(shifted(s.Since, offset))
	e.uint(uint64(s.Counted))
}

func (d *decoder) step(s *Step) {
	s.Rule = d.text()
	s.Prefix, _ = d.prefix()
	s.Blocks = int(d.uint32())
	s.Until = d.time()
	s.Since = d.time()
	s.Counted = d.uint32()
}

// Position is how far a sensor has read its source.
type Position struct {
	// Source is the sensor's name for it: a file's path, say.
	Source string
	// Place is what the sensor needs to find the place again, in a form of its
	// own. It is at most 4 KiB, and after Load valid during the call only.
	Place []byte
}

func (e *encoder) position(p *Position) {
	e.text(p.Source)
	e.bytes(p.Place)
}

func (d *decoder) position(p *Position) {
	p.Source = d.text()
	p.Place = d.bytes()
}
