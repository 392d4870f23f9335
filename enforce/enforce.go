// Package enforce makes blocks real outside of this process: in a proxy's list
// or in the kernel.
//
// A [Runner] keeps one [Enforcer] in step with the blocklist: it reads the
// whole list at the start, receives changes, and passes them on, coalesced
// and never two at a time.
//
//	blocklist ──Changed──▶ Runner ──Replace, Apply──▶ Enforcer ──▶ file ▸ reload, socket, kernel
//
// It does not decide, and nothing waits for it: Changed takes a lock for the time
// of a map write. Where an enforcer fails, edgeguard fails open: the last
// installed list stays in place, the node's own verdicts hold, the runner tries
// again and its [Stats] say so.
//
// An enforcer gets an [Entry], never an [edgeguard.Block]: an entry has no text,
// so no rule name, reason or header of a stranger can reach a file, an argument or
// a socket.
package enforce

import (
	"context"
	"net/netip"
	"time"
)

// Entry is what an enforcer installs of a block.
type Entry struct {
	// Prefix is valid, masked, and never IPv4 mapped into IPv6.
	Prefix netip.Prefix
	// Until is when the entry must be gone.
	Until time.Time
}

// Traits say how an enforcer is to be used. They never change.
type Traits struct {
	// Kernel says that it filters packets, whose source is the last proxy:
	// blocks learned from behind one (edgeguard.Block.Proxied) are kept from it.
	Kernel bool
	// Every is the shortest time between two updates.
	Every time.Duration
	// Takes is how long it takes at most, in the usual course, until clients notice a
	// change: its update and the time of who reads what was installed.
	Takes time.Duration
	// DryRun says that it counts what it would refuse, and refuses nothing.
	DryRun bool
}

// Enforcer installs a list of entries somewhere. Its methods are called one at
// a time.
//
// The suite in enforce/enforcetest holds every implementation to this.
type Enforcer interface {
	// Traits say how to use it.
	Traits() Traits
	// Replace makes entries all that is installed, whatever was before. They
	// are sorted by prefix, each prefix once, and all end after now; prefixes
	// may lie inside each other. The slice is valid during the call. It takes
	// effect whole or, with an error, leaves what was installed; where that
	// cannot be, the next Replace puts it right. Repeating it is harmless.
	Replace(ctx context.Context, now time.Time, entries []Entry) error
	// Close releases what the enforcer holds in this process. What is
	// installed stays: a restart must not let anyone in.
	Close() error
}

// Incremental is an Enforcer that can also take changes. It ends entries at
// their Until by itself: the runner does not report it.
type Incremental interface {
	Enforcer
	// Apply installs add, with the new Until where a prefix is installed
	// already, and takes out exactly the prefixes of remove; one that is not
	// installed is not an error. No prefix is in both. The slices are valid during
	// the call. After an error the runner calls Replace.
	Apply(ctx context.Context, now time.Time, add []Entry, remove []netip.Prefix) error
}

// Watched is an Enforcer that notices when somebody else changes what it installed.
type Watched interface {
	Enforcer
	// Watch calls lost when something may be missing, until ctx is done: the runner
	// then calls Replace. It runs beside the other methods.
	Watch(ctx context.Context, lost func())
}
