package snapshot

// Meter says whose windows follow.
type Meter struct {
	// Fingerprint identifies what is counted, as rules.Meter has it.
	Fingerprint string
	// Width is the seconds of a slot, at least 1.
	Width uint32
	// Forgeable says that these are the counts of evidence that a stranger can
	// forge, which are kept apart.
	Forgeable bool
}

func (e *encoder) meter(m *Meter) {
	e.text(m.Fingerprint)
	e.uint(uint64(m.Width))
	e.flags(m.Forgeable)
}

func (d *decoder) meter(m *Meter) {
	m.Fingerprint = d.text()
	m.Width = d.uint32()
	d.flags(&m.Forgeable)
	if m.Width == 0 {
		d.fail("a slot of no seconds")
	}
}
