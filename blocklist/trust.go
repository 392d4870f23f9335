package blocklist

import (
	"net/netip"
	"time"
)

// Trust is what a list knows of a record beside what the record itself says: who
// vouches for it. It goes with the record to the state file.
type Trust struct {
	// Forced says that an operator insisted, on whichever node: the prefix may be
	// wide. It is a byte of the fleet's record, which anybody who writes to Redis
	// can set.
	Forced bool
	// Signed says that this node made the record while it had a fleet key, or
	// verified its MAC. Only such records are signed when they are published again.
	Signed bool
	// Here says that an operator forced the block on this node. Only such a block
	// overrides what is protected. A record of the fleet never has it.
	Here bool
	// Elsewhere says that the block or allowance is in force on another node's word
	// alone: this node neither made it, nor did its operator confirm it, nor did the
	// nodes' counts prove it. [List.Agree] finds that out; it goes to the state file.
	Elsewhere bool
}

// Trust returns what is known of the record of exactly this prefix; the zero Trust
// if there is no record.
func (l *List) Trust(prefix netip.Prefix) Trust {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.recordOf(prefix); e != nil {
		return e.trust.public()
	}
	return Trust{}
}

// SetSigns sets whether this node has a fleet key, so that the records that it makes
// from now on are signed.
func (l *List) SetSigns(signs bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signs = signs
}

// trust is a Trust in one byte: an entry has no room for more.
type trust uint8

const (
	forced trust = 1 << iota
	signed
	here
	elsewhere
)

func (t Trust) compact() (c trust) {
	if t.Forced {
		c |= forced
	}
	if t.Signed {
		c |= signed
	}
	if t.Here {
		c |= here
	}
	if t.Elsewhere {
		c |= elsewhere
	}
	return c
}

func (t trust) has(one trust) bool { return t&one != 0 }

func (t trust) public() Trust {
	return Trust{Forced: t.has(forced), Signed: t.has(signed), Here: t.has(here), Elsewhere: t.has(elsewhere)}
}

// vouch adds to a known record what e, the same record, says more of its trust. That it
// came from elsewhere as well is not more. It
// reports whether that matters to enforcers: the block now overrides what is
// protected. Readers may have the entry, so that another takes its place. It needs
// the lock.
func (l *List) vouch(known, e *entry, now time.Time) (changed bool) {
	t := known.trust | e.trust&^elsewhere
	if t == known.trust {
		return false
	}
	next := &entry{block: known.block, trust: t}
	if known.remembered {
		l.remove(known)
		l.remember(next)
		return false
	}
	l.stand(next, known, now)
	l.publish()
	if changed = t.has(here) && !known.trust.has(here); changed {
		l.notify.add(next.block)
	}
	return changed
}

// trustOfOwn returns the trust of a record that this node makes. It needs the lock.
func (l *List) trustOfOwn(t trust) trust {
	if l.signs {
		return t | signed
	}
	return t &^ signed
}
