package snapshot

// Position is how far a sensor has read its source.
type Position struct {
	// Source is the sensor's name for it: a file's path, say.
	Source string
	// Place is what the sensor needs to find the place again, in a form of its
	// own. It is at most 4 KiB, and after Load valid during the call only.
	Place []byte
}

func (e *encoder) position(p *Position) {
	e.text(p.Source)
	e.bytes(p.Place)
}

func (d *decoder) position(p *Position) {
	p.Source = d.text()
	p.Place = d.bytes()
}
