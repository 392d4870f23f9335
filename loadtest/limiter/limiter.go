// Package limiter has the ways to limit a rate that edgeguard is compared
// with, each as its documents describe it, and edgeguard's own ring.
package limiter

import "time"

// Decision is what a limiter says to one request.
type Decision struct {
	Allowed bool
	// Count is what the limiter takes for the cost of the window that ends now,
	// this request included if it is allowed.
	Count float64
	// RetryAfter is after how long a refused request would be allowed if nothing
	// else came: what the limiter says, true or not. Negative where it has
	// nothing to say.
	RetryAfter time.Duration
}

// Limiter limits many clients. It counts what it allows, and nothing of what it
// refuses. It is not safe for concurrent use.
type Limiter interface {
	// Take asks for one request of a client; now, since the epoch, does not run
	// back.
	Take(now time.Duration, client uint32, cost uint16) (Decision, error)
}
