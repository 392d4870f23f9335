package snapshot

import (
	"time"
)

// Distribution is how the counts of a meter's keys were distributed at an instant.
type Distribution struct {
	// Fingerprint and Window are those of the meter.
	Fingerprint string
	Window      time.Duration // whole seconds
	At          time.Time
	// Form is the distribution, in a form of its own. It is at most 4 KiB, and after
	// Load valid during the call only.
	Form []byte
}

func (e *encoder) distribution(c *Distribution, offset time.Duration) {
	e.text(c.Fingerprint)
	e.uint(uint64(c.Window / time.Second))
	e.time(shifted(c.At, offset))
	e.bytes(c.Form)
}

func (d *decoder) distribution(c *Distribution) {
	c.Fingerprint = d.text()
	c.Window = time.Duration(d.uint32()) * time.Second
	c.At = d.time()
	c.Form = d.bytes()
}
