package aggregator

import "errors"

// ErrHeld is returned for a block of the fleet that awaits an operator's
// confirmation before it is put in force. The record itself is valid.
var ErrHeld = errors.New("awaits an operator's confirmation")

// Every error of [CheckRecord] wraps one of these. ErrWrong is for a record that
// every node of this version rejects. ErrNewer is for one in a format of a later
// version, whose nodes may accept it.
var (
	ErrWrong = errors.New("rejected on every node")
	ErrNewer = errors.New("of a newer version")
)

// flaw is an error with the kind that it is of, whose text is not repeated.
type flaw struct {
	error
	kind error
}

func (f flaw) Unwrap() []error { return []error{f.error, f.kind} }

// wrong returns err as one that wraps [ErrWrong].
func wrong(err error) error { return flaw{err, ErrWrong} }
