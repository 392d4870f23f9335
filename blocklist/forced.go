package blocklist

import "net/netip"

// Forced reports whether the record of exactly this prefix was made by
// [List.Force]: this is sent to the other nodes of a fleet.
func (l *List) Forced(prefix netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.known(prefix)
	return e != nil && e.forced
}
