package peers

import (
	"context"
	"net/netip"
	"time"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
)

// GoLimiter is sethvargo/go-limiter's memory store: 2,000 in five minutes. It
// reads its own clock and its keys are strings; they are given the four bytes
// of the address, the shortest there is. Making that string allocates, as it
// does for every caller whose address is no string yet. Safe for concurrent
// use.
type GoLimiter struct{ store limiter.Store }

// NewGoLimiter returns an empty store that never sweeps while it is measured.
func NewGoLimiter() (*GoLimiter, error) {
	store, err := memorystore.New(&memorystore.Config{
		Tokens: 2000, Interval: 5 * time.Minute, SweepInterval: time.Hour, SweepMinTTL: time.Hour,
	})
	return &GoLimiter{store}, err
}

// Add takes one token and gives how many are left.
func (g *GoLimiter) Add(addr netip.Addr, _ uint32) uint32 {
	b := addr.As4()
	_, left, _, _, err := g.store.Take(context.Background(), string(b[:]))
	if err != nil {
		return 0
	}
	return uint32(left)
}

// Close ends the store's sweeper.
func (g *GoLimiter) Close() error { return g.store.Close(context.Background()) }
