// Package limiter has the ways to limit a rate that edgeguard is compared
// with, each as its documents describe it, and edgeguard's own ring: [Algorithms].
// They are written as one would write them for a program: compact, and keyed by
// address. None forgets a key that is idle.
package limiter

import (
	"encoding/binary"
	"time"

	"edgeguard/loadtest/traffic"
)

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

// Local is a limiter in memory.
type Local interface {
	Limiter
	// Peek reports whether a request would be allowed at a time that is not
	// before the last Take, if nothing came until then. It changes nothing.
	Peek(at time.Duration, client uint32, cost uint16) bool
}

// Silent is a RetryAfter that says nothing.
const Silent = time.Duration(-1)

// key is the client's address as one would keep it: an IPv4 address, or the
// /64 of one of IPv6.
func key(client uint32) uint64 {
	addr := traffic.Request{Client: client}.Addr()
	if addr.Is4() {
		b := addr.As4()
		return uint64(binary.BigEndian.Uint32(b[:]))
	}
	b := addr.As16()
	return binary.BigEndian.Uint64(b[:8])
}

// never reports whether a cost can never be allowed: nobody should wait for it.
func never(cost uint16, limit uint32) bool { return uint32(cost) > limit }
