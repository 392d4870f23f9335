package redis

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Fault is why a node is cut off from its fleet, for its operator.
type Fault struct {
	// Kind is a short name for alarms and metrics, such as "unreachable" or
	// "password". It stays the same while the fault lasts.
	Kind string
	// Text says what is wrong and how to fix it.
	Text string
	// patience is the longest wait between two tries: short where Redis
	// answers, since a try costs it little.
	patience time.Duration
}

// The longest waits between two tries.
const (
	answering   = 400 * time.Millisecond
	unreachable = time.Second
)

// starting is the fault of a link that has not tried to join yet: its node
// decides alone, and there is nothing to fix and no alarm.
var starting = Fault{Kind: "starting", Text: "the fleet is not joined yet"}

// health is the state that all loops of the link share: healthy, or degraded
// with a fault. It is safe for concurrent use.
type health struct {
	alarm func(kind, about, text string)
	calm  func(kind, about string)

	mu        sync.Mutex // guards the fields below
	fault     Fault      // Kind "" while healthy; starting at first
	pushFault Fault      // the same, for pushes only
	since     time.Time
	tries     int
}

// degrade records a fault and returns the time to wait before the next try. The
// wait doubles each time up to the fault's patience, and is drawn from its
// upper half, so that nodes that lost Redis together do not return together.
func (h *health) degrade(t Fault) time.Duration {
	h.mu.Lock()
	old := h.fault
	if old.Kind == "" {
		h.since = time.Now()
	}
	h.fault = t
	wait := min(25*time.Millisecond<<min(h.tries, 10), t.patience)
	h.tries++
	h.mu.Unlock()
	if old.Kind != t.Kind {
		h.alarm("fleet", "redis", t.Text)
	}
	return wait/2 + rand.N(wait/2+1)
}

// recover records that everything works again.
func (h *health) recover() {
	h.mu.Lock()
	old := h.fault
	h.fault, h.tries = Fault{}, 0
	h.mu.Unlock()
	if old.Kind != "" && old.Kind != starting.Kind {
		h.calm("fleet", "redis")
	}
}

// degradePushes records a fault of some or all pushes; blocks are still
// received.
func (h *health) degradePushes(t Fault) {
	h.mu.Lock()
	old := h.pushFault
	if old.Kind == "" && h.fault.Kind == "" {
		h.since = time.Now()
	}
	h.pushFault = t
	h.mu.Unlock()
	if old.Kind != t.Kind {
		h.alarm("fleet", "push", t.Text)
	}
}

// recoverPushes records that pushes work, and reports whether they did not
// before.
func (h *health) recoverPushes() bool {
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

// state returns the fault that lasts, and since when; Kind is "" without one.
func (h *health) state() (Fault, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault.Kind == "" {
		return h.pushFault, h.since
	}
	return h.fault, h.since
}
