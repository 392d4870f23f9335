package blocklist

import "net/netip"

// Forced reports whether the record of exactly this prefix was made by
// [List.Force]: what the other nodes of a fleet are told of it.
func (l *List) Forced(prefix netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.known(prefix)
	return e != nil && e.forced
}
