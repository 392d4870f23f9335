package snapshot

import (
	"time"

	"edgeguard"
)

// Block is a block or an allowance, or the tombstone of one, as a blocklist
// remembers it.
type Block struct {
	edgeguard.Block
	// Forced says that an operator insisted.
	Forced bool
}

func (e *encoder) block(b *Block, offset time.Duration) {
	e.prefix(b.Prefix, false)
	e.flags(b.Forced, b.Lifted, b.Proxied, b.Allow)
	e.text(b.Rule)
	e.text(b.Reason)
	e.text(b.Origin)
	e.uint(uint64(b.Count))
	e.uint(uint64(b.Limit))
	e.uint(b.Version)
	e.time(shifted(b.Since, offset))
	e.time(shifted(b.Until, offset))
}

func (d *decoder) block(b *Block) {
	b.Prefix, _ = d.prefix()
	d.flags(&b.Forced, &b.Lifted, &b.Proxied, &b.Allow)
	b.Rule = d.text()
	b.Reason = d.text()
	b.Origin = d.text()
	b.Count = d.uint32()
	b.Limit = d.uint32()
	b.Version = d.uint()
	b.Since = d.time()
	b.Until = d.time()
}

// over reports whether there is no more use in the block at now. A tombstone
// is of use for a while after its end, which the list knows.
func (b *Block) over(now time.Time) bool {
	return !b.Lifted && !now.Before(b.Until)
}
