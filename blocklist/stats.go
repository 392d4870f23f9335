package blocklist

import "maps"

// Stats is the size of a list.
type Stats struct {
	V4, V6     int // standing blocks by family
	Allowances int // those made at run time that stand
	// Remembered is how many tombstones, ended blocks and ended allowances are
	// kept against older news.
	Remembered int
	// Rules counts the standing blocks by the rule that made them.
	Rules map[string]int
}

// Stats counts blocks that are over until a Sweep, as Len does.
func (l *List) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		V4:         l.current.blocks.Size4(),
		V6:         l.current.blocks.Size6(),
		Allowances: l.current.allowances.Size(),
		Remembered: len(l.graves),
		Rules:      maps.Clone(l.rules),
	}
}
