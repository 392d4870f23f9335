package blocklist

import (
	"time"

	"edgeguard"
)

// WouldAgree returns what Agree would return for a record, and changes nothing: news
// reports whether it would replace what is known of its prefix by its order.
func (l *List) WouldAgree(b edgeguard.Block, t Trust, now time.Time) (news bool, err error) {
	e := &entry{block: normalize(b), trust: t.compact() &^ here}
	if err := l.checkPrefix(e); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, news, err = l.replacesKnown(e, now)
	return news, err
}

// Check returns why Add would refuse a block or an allowance without force, other
// than for want of room, and changes nothing.
func (l *List) Check(b edgeguard.Block, now time.Time) error {
	e := &entry{block: normalize(b)}
	if err := l.checkPrefix(e); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkAllowance(e, now); err != nil {
		return err
	}
	_, _, err := l.replacesKnown(e, now)
	return err
}

// Greater reports whether a list keeps record a of a prefix rather than b, be
// neither forced.
func Greater(a, b edgeguard.Block) bool {
	return compare(&entry{block: normalize(a)}, &entry{block: normalize(b)}) > 0
}
