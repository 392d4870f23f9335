package snapshot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"edgeguard"
	"edgeguard/internal/safepath"
)

// Why a file is not used. Load wraps them with the file's name, the place,
// and what became of it.
var (
	// errForeign: it does not begin as a snapshot does.
	errForeign = errors.New("not a snapshot of edgeguard")
	// errVersion: another version of edgeguard wrote it.
	errVersion = errors.New("written by another version of edgeguard")
	// errDamaged: it is cut short, or its checksums do not fit.
	errDamaged = errors.New("damaged")
	// errUnreadable: it is of another user, or the disk fails.
	errUnreadable = errors.New("cannot be read")
	// errFuture: it was taken later than now.
	errFuture = errors.New("taken in the future: the clock was wrong then or is wrong now")
)

// maxAhead is how far in the future a snapshot may have been taken: what
// setting a clock right between two runs may leave. What it counted after now
// then counts now.
const maxAhead = time.Minute

// Sink takes the records of a file in the order in which they were written.
// A function that is nil is not called. None of them may keep what a pointer or
// a slice points to.
type Sink struct {
	// Meter says what takes the meter's windows; nil for nothing, where no
	// rule counts by it any more.
	Meter func(Meter) func(*Window)
	// Block takes a block that is in force, or a tombstone however old.
	Block        func(*Block)
	Step         func(Step)
	Position     func(Position)
	Evidence     func(*edgeguard.Evidence)
	Distribution func(Distribution)
	Note         func([]byte)
}

// Loaded says what a file gave.
type Loaded struct {
	Cut
	// Windows, Blocks, Steps and Positions were passed on.
	Windows, Blocks, Steps, Positions int
	// Outdated windows and blocks were not: they had left the window or were
	// over.
	Outdated int
	// Skipped windows were not, since nothing takes their meter's.
	Skipped int
	// Settled windows had counts in slots after now, which were passed on as
	// counts of now.
	Settled int
	// Sum is the file's checksum: what Writer.Checksum returned.
	Sum uint64
}

// LoadFile passes every record of the snapshot at path that is of use at now, on
// the epoch's clock, to the sink. It passes all, or none if it returns an error.
// (Only a program that rewrites the file in its place, between check and use, can
// make it stop halfway; edgeguard never does.)
//
// Where there is no file the error is fs.ErrNotExist: a first start. A file
// that is errForeign, errVersion, errDamaged, errUnreadable or errFuture has been
// renamed, and the error says to what. After any error the node starts without what it knew.
func LoadFile(path string, now time.Time, sink Sink) (Loaded, error) {
	l, err := load(path, now, &sink)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, os.ErrNotExist):
		return Loaded{}, fmt.Errorf("no state yet: %w", err)
	case unusable(err):
		err = fmt.Errorf("%w; %s", err, SetAside(path))
	}
	return Loaded{}, fmt.Errorf("state %s: %w", path, err)
}

func unusable(err error) bool {
	for _, why := range []error{errForeign, errVersion, errDamaged, errUnreadable, errFuture} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

func load(path string, now time.Time, sink *Sink) (Loaded, error) {
	place, err := safepath.Open(path)
	if err != nil {
		return Loaded{}, err
	}
	defer func() { _ = place.Close() }()
	info, err := place.Lstat(place.Name)
	if err != nil {
		return Loaded{}, err
	}
	if !info.Mode().IsRegular() {
		return Loaded{}, errors.New("not a file: choose another path for the state")
	}
	f, err := place.Open(place.Name)
	if err != nil {
		return Loaded{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer f.Close()
	l, err := readTwice(f, now, sink)
	if err != nil && !unusable(err) {
		err = fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return l, err
}

// readTwice checks the whole file, every record of it, before it hands the
// first one over.
func readTwice(f io.ReadSeeker, now time.Time, sink *Sink) (Loaded, error) {
	check := newReader(f)
	sum, err := check.readRecords(&handover{sink: &Sink{}})
	if err != nil {
		return Loaded{}, err
	}
	if check.cut.Taken.After(now.Add(maxAhead)) {
		return Loaded{}, fmt.Errorf("%w: %s, now it is %s", errFuture,
			check.cut.Taken.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Loaded{}, err
	}
	h := &handover{sink: sink, now: now}
	h.loaded.Cut, h.loaded.Sum = check.cut, sum
	again, err := newReader(f).readRecords(h)
	if err == nil && again != sum {
		err = damaged(0, "it changed while it was read")
	}
	return h.loaded, err
}

// damaged says what is wrong with the file, at which byte.
func damaged(at int64, format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: %s", errDamaged, at, fmt.Sprintf(format, args...))
}
