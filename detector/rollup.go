package detector

import (
	"fmt"
	"time"

	"edgeguard"
)

const (
	// rollUpTo is the network that a provider gives to one customer, mostly; a
	// wider one may be all phones of a mobile carrier, with a /64 each, and is
	// never blocked for what some of them do.
	rollUpFrom, rollUpTo = 64, 56
	// rollUpAt is a quarter of the /64 in it.
	rollUpAt = 1 << (rollUpFrom - rollUpTo) / 4
)

// rollUp blocks the /56 around a block of a /64 where a quarter of its /64 are
// blocked by now, until the end of the one that made it so.
func (d *Detector) rollUp(now time.Time, b edgeguard.Block) {
	if !d.config.RollUp || b.Prefix.Addr().Is4() || b.Prefix.Bits() != rollUpFrom {
		return
	}
	wide, err := b.Prefix.Addr().Prefix(rollUpTo)
	if err != nil || d.config.List.Inside(now, wide, rollUpFrom, rollUpAt) < rollUpAt {
		return
	}
	if old := d.config.List.BlockOf(now, wide); old != nil && old.Rule == edgeguard.ManualRule {
		return // an operator's block stays
	}
	b.Prefix, b.Version, b.Since = wide, 0, now
	b.Reason = fmt.Sprintf("rolled up: %d of its /%d are blocked", rollUpAt, rollUpFrom)
	_, _, _ = d.config.List.Add(b, false, now) // what is exempt stays so
}
