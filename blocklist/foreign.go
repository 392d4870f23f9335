package blocklist

import (
	"net/netip"
	"time"
)

// Remove takes out the block of exactly this prefix and remembers nothing of it, in a
// list whose blocks have one author who never sends older news. No function is called.
// It reports whether there was such a block.
func (l *List) Remove(prefix netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.blocks.Get(prefix)
	if ok {
		l.remove(e)
		l.publish()
	}
	return ok
}

// Spares returns why no block that is made elsewhere would apply to any address of a
// prefix: Allowed or Protected, of which another node's signed address is one; None if
// it may apply. It takes no lock.
func (l *List) Spares(now time.Time, prefix netip.Prefix) Standing {
	v := l.view.Load()
	switch {
	case v == nil:
		return None
	case v.allow.LookupPrefix(prefix), v.allowances != nil && v.allowance(now, prefix) != nil:
		return Allowed
	case v.protected.LookupPrefix(prefix), v.peers.LookupPrefix(prefix):
		return Protected
	}
	return None
}
