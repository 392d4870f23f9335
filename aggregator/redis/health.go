package redis

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Trouble is why a node is cut off from its fleet, in words for its operator:
// the kind, which stays the same while the trouble does, and what to do.
type Trouble struct {
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
var starting = Trouble{Kind: "starting", Text: "the fleet is not joined yet"}

// health is the one state of the link that all its loops share: healthy, or
// degraded with a reason. Safe for concurrent use.
type health struct {
	alarm func(kind, about, text string)
	calm  func(kind, about string)

	mu      sync.Mutex
	trouble Trouble // Kind "" while healthy; at first starting
	part    Trouble // the same, of pushes only
	since   time.Time
	tries   int
}

// degrade takes in a failure and gives the time to wait before the next try:
// doubled each time up to the trouble's patience, and drawn from its upper
// half, so that nodes that lost Redis together do not come back together.
func (h *health) degrade(t Trouble) time.Duration {
	h.mu.Lock()
	old := h.trouble
	if old.Kind == "" {
		h.since = time.Now()
	}
	h.trouble = t
	wait := min(25*time.Millisecond<<min(h.tries, 10), t.patience)
	h.tries++
	h.mu.Unlock()
	if old.Kind != t.Kind {
		h.alarm("fleet", "redis", t.Text)
	}
	return wait/2 + rand.N(wait/2+1)
}

// mend says that everything works again.
func (h *health) mend() {
	h.mu.Lock()
	old := h.trouble
	h.trouble, h.tries = Trouble{}, 0
	h.mu.Unlock()
	if old.Kind != "" && old.Kind != starting.Kind {
		h.calm("fleet", "redis")
	}
}

// degradePart takes in a failure that leaves the rest at work: blocks are heard,
// and some or all counts are not.
func (h *health) degradePart(t Trouble) {
	h.mu.Lock()
	old := h.part
	if old.Kind == "" && h.trouble.Kind == "" {
		h.since = time.Now()
	}
	h.part = t
	h.mu.Unlock()
	if old.Kind != t.Kind {
		h.alarm("fleet", "push", t.Text)
	}
}

// mendPart says that pushes work again, and reports whether they did not.
func (h *health) mendPart() bool {
	h.mu.Lock()
	old := h.part
	h.part = Trouble{}
	h.mu.Unlock()
	if old.Kind == "" {
		return false
	}
	h.calm("fleet", "push")
	return true
}

// state is the trouble that stands, and since when; Kind is "" where all is
// well.
func (h *health) state() (Trouble, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trouble.Kind == "" {
		return h.part, h.since
	}
	return h.trouble, h.since
}
