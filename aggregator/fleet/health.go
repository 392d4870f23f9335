package fleet

import (
	"sync"
	"time"
)

// Whether a node is joined to its fleet, why it is not, and how long it waits before it tries
// again.

// steady is how long a session must last to prove that the node works with its
// fleet. A shorter one may have been a join that succeeds while everything
// after it fails, such as with an ACL line that lacks a command.
const steady = 10 * time.Second

// The waits between two tries: after a try that failed, from first on, doubled
// up to the fault's patience; after a short session that is not the first in a
// row, from again on, doubled up to longest.
const (
	first        = 25 * time.Millisecond
	again        = 1500 * time.Millisecond
	longestPause = 30 * time.Second
	// cut takes the place of longest where no answer of Redis ended the session:
	// a bad network must not keep a node out of its fleet most of the time.
	cut = 3 * time.Second
)

// Fault is why a node is cut off from its fleet, for its operator.
type Fault struct {
	// Kind is a short name for alarms and metrics, such as "unreachable" or
	// "password". It stays the same while the fault lasts.
	Kind string
	// Text says what is wrong and how to fix it.
	Text string
	// Patience is the longest wait between two tries: short where Redis
	// answers, since a try costs it little.
	Patience time.Duration
	// Answered says that Redis answered: with a refusal, mostly.
	Answered bool
}

// starting is the fault of a node that has not tried to join yet: it decides
// alone, and there is nothing to fix and no alarm.
var starting = Fault{Kind: "starting", Text: "the fleet is not joined yet"}

// Health is the state of a node's connection: joined, or cut off with a fault.
// It is safe for concurrent use.
type Health struct {
	alarm func(kind, about, text string)
	calm  func(kind, about string)

	mu        sync.Mutex // guards the fields below
	fault     Fault      // Kind "" while joined; starting at first
	pushFault Fault      // the same, for pushes only
	since     time.Time
	joined    time.Time // zero while cut off
	alarmed   string    // the kind of the alarm that is active; "" if none is
	tries     int       // that failed in a row
	short     int       // sessions in a row that were shorter than Steady
	nodes     int       // alive in the last steady session, or since
}

// NewHealth returns the health of a node that has not tried to join yet. It calls
// alarm and calm without a lock.
func NewHealth(now time.Time, alarm func(kind, about, text string), calm func(kind, about string)) *Health {
	return &Health{alarm: alarm, calm: calm, fault: starting, since: now}
}

// Joined records that the node is joined. An alarm ends only when that has
// lasted: see Lasts.
func (h *Health) Joined(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault, h.joined, h.tries = Fault{}, now, 0
}

// Lasts records that the node is still joined, in a fleet with so many nodes
// alive. It ends the alarm when the session is no longer a short one.
func (h *Health) Lasts(now time.Time, nodes int) {
	h.mu.Lock()
	if h.steady(now) {
		h.nodes = nodes
	} else {
		h.nodes = max(h.nodes, nodes) // the others may not have returned yet
	}
	ends := h.steady(now) && h.alarmed != ""
	if ends {
		h.alarmed = ""
	}
	h.mu.Unlock()
	if ends {
		h.calm("fleet", "redis")
	}
}

func (h *Health) steady(now time.Time) bool {
	return !h.joined.IsZero() && now.Sub(h.joined) >= steady
}

// Failed records that a try to join, or a session, ended with a fault. It
// returns the longest time to wait before the next try: draw from its upper
// half, so that nodes that lost Redis together do not return together.
func (h *Health) Failed(now time.Time, f Fault) time.Duration {
	h.mu.Lock()
	if h.fault.Kind == "" {
		h.since = now
	}
	wait := min(first<<min(h.tries, 10), f.Patience)
	switch {
	case h.joined.IsZero():
		h.tries++
	case h.steady(now):
		h.short = 0
	default:
		// The first returns as fast as after any fault, since Redis may have
		// restarted.
		if h.short++; h.short > 1 {
			most := cut
			if f.Answered {
				most = longestPause
			}
			wait = min(again<<min(h.short-2, 10), most)
		}
	}
	h.fault, h.joined = f, time.Time{}
	changed := h.alarmed != f.Kind
	h.alarmed = f.Kind
	h.mu.Unlock()
	if changed {
		h.alarm("fleet", "redis", f.Text)
	}
	return wait
}

// PushFailed records a fault of some or all pushes; blocks are still received.
func (h *Health) PushFailed(now time.Time, f Fault) {
	h.mu.Lock()
	old := h.pushFault
	if old.Kind == "" && h.fault.Kind == "" {
		h.since = now
	}
	h.pushFault = f
	h.mu.Unlock()
	if old.Kind != f.Kind {
		h.alarm("fleet", "push", f.Text)
	}
}

// PushWorks records that pushes work, and reports whether they did not before.
func (h *Health) PushWorks() bool {
	h.mu.Lock()
	old := h.pushFault
	h.pushFault = Fault{}
	h.mu.Unlock()
	if old.Kind == "" {
		return false
	}
	h.calm("fleet", "push")
	return true
}

// State returns the fault that lasts, and since when; Kind is "" without one.
func (h *Health) State() (Fault, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault.Kind == "" {
		return h.pushFault, h.since
	}
	return h.fault, h.since
}
