package snapshot

import (
	"math"
	"time"

	"edgeguard"
)

// Block is a block or an allowance, or the tombstone of one, as a blocklist
// remembers it.
type Block struct {
	edgeguard.Block
	// Forced says that an operator insisted.
	Forced bool
	// Held says that the block is not in force: it has waited for a word since
	// At, when it would have refused Share (0 to 1) of the requests.
	Held  bool
	Share float64
	At    time.Time
}

func (e *encoder) block(b *Block, offset time.Duration) {
	e.prefix(b.Prefix, false)
	e.flags(b.Forced, b.Lifted, b.Proxied, b.Allow, b.Held)
	e.text(b.Rule)
	e.text(b.Reason)
	e.text(b.Origin)
	e.uint(uint64(b.Count))
	e.uint(uint64(b.Limit))
	e.uint(b.Version)
	e.time(shifted(b.Since, offset))
	e.time(shifted(b.Until, offset))
	if b.Held {
		e.fixed64(math.Float64bits(b.Share))
		e.time(shifted(b.At, offset))
	}
}

func (d *decoder) block(b *Block) {
	b.Prefix, _ = d.prefix()
	d.flags(&b.Forced, &b.Lifted, &b.Proxied, &b.Allow, &b.Held)
	b.Rule = d.text()
	b.Reason = d.text()
	b.Origin = d.text()
	b.Count = d.uint32()
	b.Limit = d.uint32()
	b.Version = d.uint()
	b.Since = d.time()
	b.Until = d.time()
	b.Share, b.At = 0, time.Time{}
	if !b.Held {
		return
	}
	if b.Share = math.Float64frombits(d.fixed64()); !(b.Share >= 0 && b.Share <= 1) {
		d.fail("not a share of the requests: %v", b.Share)
	}
	b.At = d.time()
}

// over reports whether there is no more use in the block at now. A tombstone
// is of use for a while after its end, which the list knows.
func (b *Block) over(now time.Time) bool {
	return !b.Lifted && !now.Before(b.Until)
}
