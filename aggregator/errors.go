package aggregator

import "errors"

// ErrHeld is what a node says of a block of the fleet that it does not put in
// force before an operator has said so. The block is as good as any; it is no
// poison.
var ErrHeld = errors.New("waits for an operator's word")
