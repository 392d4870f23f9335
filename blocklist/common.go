package blocklist

import "edgeguard"

// Common is what many blocks have in common.
type Common struct {
	Rule, Origin string
	V6           bool
}

// mostCommon bounds what Count looks at under the lock: other nodes write origins, and
// each can be another.
const mostCommon = 4096

func commonOf(b *edgeguard.Block) Common { return Common{b.Rule, b.Origin, !b.Prefix.Addr().Is4()} }

// Count returns how many blocks have something in common, without a look at the
// blocks; false if they are too different. As in Stats, those that have ended count
// until a Sweep.
func (l *List) Count(of func(Common) bool) (n int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.newest.common) > mostCommon {
		return 0, false
	}
	for one, blocks := range l.newest.common {
		if of(one) {
			n += blocks
		}
	}
	return n, true
}
