package redis

import (
	"math/rand/v2"
	"sync"
	"time"
)

// logEvery is the least time between two log lines about the fleet, whatever
// happens: a Redis that flaps must not fill a disk.
const logEvery = time.Minute

// starting is the trouble of a link that has not tried to join yet: its node
// decides alone, and there is nothing to mend nor to alarm.
var starting = Trouble{Kind: "starting", Text: "the fleet is not joined yet"}

// health is the one state of the link that all its loops share: healthy, or
// degraded with a reason. Safe for concurrent use.
type health struct {
	say   func(text string)
	alarm func(kind, about, text string)
	calm  func(kind, about string)

	mu      sync.Mutex
	trouble Trouble // Kind "" while healthy; at first starting
	part    Trouble // the same, of pushes only
	since   time.Time
	tries   int
	unsaid  string    // the newest line that had to wait
	said    time.Time // of the last line
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
		h.tell("degraded: the fleet is not heard; this node decides alone: " + t.Text)
	} else {
		h.tell("")
	}
	return wait/2 + rand.N(wait/2+1)
}

// mend says that everything works again.
func (h *health) mend() {
	h.mu.Lock()
	old, since := h.trouble, h.since
	h.trouble, h.tries = Trouble{}, 0
	h.mu.Unlock()
	if old.Kind != "" && old.Kind != starting.Kind {
		h.calm("fleet", "redis")
		h.tell("the fleet is heard again after " + time.Since(since).Round(100*time.Millisecond).String())
		return
	}
	h.tell("")
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
	if old.Kind == t.Kind {
		h.tell("")
		return
	}
	h.alarm("fleet", "push", t.Text)
	h.tell("degraded: the fleet does not hear all counts of this node: " + t.Text)
}

// mendPart says that pushes work again.
func (h *health) mendPart() {
	h.mu.Lock()
	old := h.part
	h.part = Trouble{}
	h.mu.Unlock()
	if old.Kind != "" {
		h.calm("fleet", "push")
		h.tell("the fleet hears all counts again")
	}
}

// tell logs text, or keeps it until a line may be logged again; "" logs what
// was kept, if it is time.
func (h *health) tell(text string) {
	h.mu.Lock()
	if text != "" {
		h.unsaid = text
	}
	now := time.Now()
	line := ""
	if h.unsaid != "" && (h.said.IsZero() || now.Sub(h.said) >= logEvery) {
		line, h.unsaid, h.said = h.unsaid, "", now
	}
	h.mu.Unlock()
	if line != "" {
		h.say(line)
	}
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
