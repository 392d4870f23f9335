package blocklist

// Stats is the size of a list.
type Stats struct {
	V4, V6     int // active blocks by family
	Allowances int // active ones made at run time
	// Remembered is how many tombstones, ended blocks and ended allowances are
	// kept against older news.
	Remembered int
	// Rules counts the active blocks by the rule that made them.
	Rules map[string]int
	// ByHand are the operators' of the active blocks, and Most how many blocks may
	// be active, 0 for any number. Evicted blocks made room for others; Full
	// counts operators' blocks and allowances that found none.
	ByHand, Most  int
	Evicted, Full uint64
	// Forgotten tombstones and ended blocks found no room among what is
	// remembered, or made room for tombstones.
	Forgotten uint64
}

// Stats also counts blocks that have ended, until a Sweep, as Len does.
func (l *List) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		V4:         l.blocks.Size4(),
		V6:         l.blocks.Size6(),
		Allowances: l.current.allowances.Size(),
		Remembered: len(l.remembered),
		Rules:      l.newest.counts(),
		ByHand:     l.budget.byHand,
		Most:       l.budget.most,
		Evicted:    l.budget.evicted,
		Full:       l.budget.refused,
		Forgotten:  l.budget.forgotten,
	}
}
