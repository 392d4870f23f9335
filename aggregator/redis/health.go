package redis

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Trouble is why a node is cut off from its fleet, in words for its operator:
// the kind, which stays the same while the trouble does, and what to do.
type Fault struct {
	// Kind is one word for alarms and metrics: "unreachable", "password" …
	Kind string
	// Text says what is wrong and its mend.
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

// starting is the trouble of a link that has not tried to join yet: its node
// decides alone, and there is nothing to mend nor to alarm.
var starting = Fault{Kind: "starting", Text: "the fleet is not joined yet"}

// health is the one state of the link that all its loops share: healthy, or
// degraded with a reason. Safe for concurrent use.
type health struct {
	alarm func(kind, about, text string)
	calm  func(kind, about string)

	mu        sync.Mutex
	fault     Fault // Kind "" while healthy; at first starting
	pushFault Fault // the same, of pushes only
	since     time.Time
	tries     int
}

// degrade takes in a failure and gives the time to wait before the next try:
// doubled each time up to the trouble's patience, and drawn from its upper
// half, so that nodes that lost Redis together do not come back together.
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

// mend says that everything works again.
func (h *health) recover() {
	h.mu.Lock()
	old := h.fault
	h.fault, h.tries = Fault{}, 0
	h.mu.Unlock()
	if old.Kind != "" && old.Kind != starting.Kind {
		h.calm("fleet", "redis")
	}
}

// degradePart takes in a failure that leaves the rest at work: blocks are heard,
// and some or all counts are not.
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

// mendPart says that pushes work again, and reports whether they did not.
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

// state is the trouble that stands, and since when; Kind is "" where all is
// well.
func (h *health) state() (Fault, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault.Kind == "" {
		return h.pushFault, h.since
	}
	return h.fault, h.since
}
