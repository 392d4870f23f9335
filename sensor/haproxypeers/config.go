package haproxypeers

import (
	"net/netip"
	"sync"
	"time"

	"edgeguard/haproxy/peers"
)

// NoColumn is [Config.Every] where no column counts each request.
const NoColumn = -1

// Config says what the HAProxies of one listener count and are taught. Now, Log, Cut and
// Tally are required.
type Config struct {
	// Now is the node's clock.
	Now func() time.Time
	// Tally remembers what the HAProxies had counted, and Count returns what counts the
	// increases of one of them. Nil: they are not counted.
	Tally *peers.Tally
	Count func() Counter
	// Cut is held while the tally and what it adds are counted together.
	Cut sync.Locker
	// Table is the name of the table that is counted, as haproxy.cfg has it, and
	// Columns how many counters it has. Without columns nothing is counted.
	Table   string
	Columns int
	// Every is the column that counts each request, or NoColumn.
	Every int
	// Alike reports whether a table's name is that of counts by other rules.
	Alike func(name string) bool
	// Blocks are the tables that blocks are taught into, with distinct IDs.
	Blocks []peers.Definition
	// Follow returns what to teach a HAProxy that has connected. Nil: nothing.
	Follow func(haproxy string) Follower
	// Happened receives what an operator should know. It must drop repetitions.
	// Nil disables it.
	Happened func(text string)
	// Log receives what begins and ends, as slog.Logger.Info does.
	Log func(text string, args ...any)
}

// Follower says what one HAProxy is to be taught next. All is due at first. It is safe
// for concurrent use.
type Follower interface {
	// Due is sent to when Take may return something.
	Due() <-chan struct{}
	// Take returns what is due, as much as into has room for, and when to ask again:
	// if that is not after now, more is due already. Zero: when Due is sent to.
	Take(now time.Time, into []peers.Taught) (due []peers.Taught, next time.Time)
	// Holds takes note of an entry that HAProxy has in one of the tables.
	Holds(now time.Time, table int, key netip.Addr, value uint32)
	// Again makes all due, for a HAProxy that has nothing.
	Again()
	// Leave ends it.
	Leave()
}

func (c *Config) happened(text string) {
	if c.Happened != nil {
		c.Happened(text)
	}
}

func (c *Config) counter() Counter {
	if c.Count == nil {
		return func(time.Time, string, []peers.Increase) (out peers.Outcome) { return out }
	}
	return c.Count()
}

func (c *Config) follow(haproxy string) Follower {
	if c.Follow == nil {
		return nothing{}
	}
	return c.Follow(haproxy)
}

// nothing is a follower without blocks.
type nothing struct{}

func (nothing) Due() <-chan struct{} { return nil }

func (nothing) Take(time.Time, []peers.Taught) ([]peers.Taught, time.Time) {
	return nil, time.Time{}
}

func (nothing) Holds(time.Time, int, netip.Addr, uint32) {}

func (nothing) Again() {}
func (nothing) Leave() {}
