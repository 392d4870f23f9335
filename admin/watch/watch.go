// Package watch keeps what many viewers of a node share, so that a hundred cost as
// much as one.
//
// A [Board] sends the figures of the keys that pages show, once in five seconds; a
// [Hub] what happens, to the streams of all readers; [Shared] is one look at all keys
// for all who ask, and [Copies] are a long list in an order of theirs; [Rates] is
// what the node did lately. While nobody looks there is no timer and no goroutine.
package watch

import (
	"encoding/json"
	"net/netip"
	"sync"
	"time"
)

const (
	// Every is how often the figures are sent: a slot of the usual window.
	Every = 5 * time.Second
	// queueSize is how many messages wait for one viewer before it is dropped.
	queueSize = 4
)

// Key is what is looked at: what a rule counts of a prefix, with the newest slots.
// An empty rule stands for that of the prefix's block, else the nearest to a limit.
type Key struct {
	Prefix netip.Prefix
	Rule   string
	Slots  int
}

// Board looks at keys for its viewers. It is safe for concurrent use. Make one with
// [NewBoard].
type Board struct {
	now  func() time.Time
	look func(now time.Time, k Key) Figures

	mu      sync.Mutex // guards the fields below
	viewers map[*Viewer]bool
	run     *run // nil while nobody looks
}

// run is one span in which somebody looks. A look that ends after its run does not
// begin the next one's timer.
type run struct{ timer *time.Timer }

// Viewer is one who looks at some keys.
type Viewer struct {
	// Messages is closed when the viewer does not keep up.
	Messages <-chan Message

	queue chan Message
	keys  []Key
}

// NewBoard returns a board without viewers. now is the node's time; look returns the
// figures of a key, encoded.
func NewBoard(now func() time.Time, look func(now time.Time, k Key) Figures) *Board {
	return &Board{now: now, look: look, viewers: make(map[*Viewer]bool)}
}

// Look returns the figures of keys now.
func (b *Board) Look(keys []Key) Message { return b.collect(b.now(), keys, nil) }

// Join has the figures of keys sent from now on. Whoever joins calls Leave.
func (b *Board) Join(keys []Key) *Viewer {
	queue := make(chan Message, queueSize)
	v := &Viewer{Messages: queue, queue: queue, keys: keys}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.viewers[v] = true
	if b.run == nil {
		b.run = new(run)
		b.schedule()
	}
	return v
}

// Leave ends a viewer.
func (b *Board) Leave(v *Viewer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.viewers, v)
	b.rest()
}

// rest ends the run if nobody looks. It needs the lock.
func (b *Board) rest() {
	if b.run != nil && len(b.viewers) == 0 {
		b.run.timer.Stop()
		b.run = nil
	}
}

// schedule sets the timer to the next beginning of a slot. It needs the lock.
func (b *Board) schedule() {
	current, now := b.run, b.now()
	b.run.timer = time.AfterFunc(now.Truncate(Every).Add(Every).Sub(now), func() { b.send(current) })
}

// send looks at the keys of all viewers, at each once, and queues what was found.
func (b *Board) send(current *run) {
	b.mu.Lock()
	viewers := make([]*Viewer, 0, len(b.viewers))
	for v := range b.viewers {
		viewers = append(viewers, v)
	}
	b.mu.Unlock()
	now, seen := b.now(), make(map[Key]json.RawMessage)
	messages := make([]Message, len(viewers))
	for i, v := range viewers {
		messages[i] = b.collect(now, v.keys, seen)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, v := range viewers {
		b.queue(v, messages[i])
	}
	if b.rest(); b.run == current {
		b.schedule()
	}
}

// queue passes a message to a viewer, and drops one that does not keep up. It needs
// the lock.
func (b *Board) queue(v *Viewer, m Message) {
	if !b.viewers[v] {
		return
	}
	select {
	case v.queue <- m:
	default:
		delete(b.viewers, v)
		close(v.queue)
	}
}

// figures looks at a key. Nobody but the timer would see a panic of it, and it would
// end the node.
func (b *Board) figures(now time.Time, k Key) (figures json.RawMessage) {
	defer func() {
		if recover() != nil {
			figures = json.RawMessage("null")
		}
	}()
	return encode(b.look(now, k))
}

// collect returns the figures of keys, and those that were seen already as they
// were then.
func (b *Board) collect(now time.Time, keys []Key, seen map[Key]json.RawMessage) Message {
	m := Message{Time: now.UTC(), Figures: make([]json.RawMessage, len(keys))}
	for i, k := range keys {
		figures, ok := seen[k]
		if !ok {
			figures = b.figures(now, k)
			if seen != nil {
				seen[k] = figures
			}
		}
		m.Figures[i] = figures
	}
	return m
}
