package lists

import (
	"net/netip"
	"time"
)

// rank returns how many requests were refused because of a block, and when the last one
// was. A part of a block around an exempt address has those of the whole.
func (e *Lists) rank(p netip.Prefix) (refusals uint32, last time.Time) {
	refusals, last, ok := e.config.List.Refusals(p)
	if ok {
		return refusals, last
	}
	if _, block := e.config.List.Find(e.config.Now(), p.Addr()); block != nil {
		refusals, last, _ = e.config.List.Refusals(block.Prefix)
	}
	return refusals, last
}
