package packet

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
)

// damage is why a capture cannot be read further. What came before it counts.
type damage struct {
	offset int64 // in the capture, uncompressed
	reason string
}

// Error returns place and reason.
func (d *damage) Error() string {
	return fmt.Sprintf("at byte %d: %s", d.offset, d.reason)
}

// isDamage reports whether the input's error lies in what it holds (broken
// compression) and not in reading it.
func isDamage(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt)
}
