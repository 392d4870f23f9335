package aggregator

import "errors"

// ErrHeld is returned for a block of the fleet that awaits an operator's
// confirmation before it is put in force. The record itself is valid.
var ErrHeld = errors.New("awaits an operator's confirmation")
