package snapshot

import (
	"errors"
	"io/fs"
	"iter"
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

// SaveDistributions writes a file of distributions alone.
func SaveDistributions(path string, cut Cut, all iter.Seq[Distribution]) error {
	w, err := Create(path, cut)
	if err != nil {
		return err
	}
	defer w.Close()
	for one := range all {
		w.Distribution(one)
	}
	return w.Commit()
}

// LoadDistributions reads such a file, as [Load]. A file that is not there is empty.
func LoadDistributions(path string, now time.Time, take func(Distribution)) error {
	if _, err := Load(path, now, Sink{Distribution: take}); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
