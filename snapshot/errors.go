package snapshot

import (
	"errors"
	"fmt"
)

// Why a file is not used. Load wraps them with the file's name, the place,
// and what became of it.
var (
	// ErrForeign: it does not begin as a snapshot does.
	ErrForeign = errors.New("not a snapshot of edgeguard")
	// ErrVersion: another version of edgeguard wrote it.
	ErrVersion = errors.New("written by another version of edgeguard")
	// ErrDamaged: it is cut short, or its checksums do not fit.
	ErrDamaged = errors.New("damaged")
	// ErrFuture: it was taken later than now.
	ErrFuture = errors.New("taken in the future: the clock was wrong then or is wrong now")
)

// damaged says what is wrong with the file, at which byte.
func damaged(at int64, format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: %s", ErrDamaged, at, fmt.Sprintf(format, args...))
}
