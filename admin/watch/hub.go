package watch

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

const (
	// StreamMemory is how many messages a hub keeps, for streams that come back.
	StreamMemory = 4096
	// streamQueue is how many messages wait for one stream before it is closed.
	streamQueue = 256
	// Oldest stands for the ID before the oldest message that is kept.
	Oldest = "oldest"
)

// Hub keeps the last messages and sends them to its streams. Publishing never
// waits: a stream that does not keep up is dropped and counted. It is safe for
// concurrent use. Make one with [NewHub].
type Hub[T any] struct {
	run string // distinguishes the IDs of this run from those of another

	mu      sync.Mutex // guards the fields below
	ring    [StreamMemory]StreamMessage[T]
	next    uint64 // the number of the next message; the first is 1
	streams map[*Stream[T]]bool
	dropped uint64
}

// StreamMessage is one message with its ID, by which a reader goes on, and its kind.
type StreamMessage[T any] struct {
	ID, Kind string
	Value    T
}

// Stream is one reader of a hub.
type Stream[T any] struct {
	// Messages is closed when the reader is too slow.
	Messages <-chan StreamMessage[T]

	queue chan StreamMessage[T]
	kinds map[string]bool
}

// StreamStart is where a stream begins.
type StreamStart[T any] struct {
	ID     string             // of the last message before it
	Missed []StreamMessage[T] // what came after the ID asked for
	Gap    bool               // some of that is no longer stored; then Missed is empty
}

// NewHub makes a hub without messages.
func NewHub[T any]() *Hub[T] {
	return &Hub[T]{run: strconv.FormatUint(uint64(rand.Uint32()), 36), next: 1, streams: make(map[*Stream[T]]bool)}
}

// Publish keeps a message, which it makes with its ID, and queues it for the
// streams of its kind.
func (h *Hub[T]) Publish(kind string, with func(id string) T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.id(h.next)
	m := StreamMessage[T]{id, kind, with(id)}
	h.ring[h.next%StreamMemory] = m
	h.next++
	for s := range h.streams {
		if s.kinds != nil && !s.kinds[kind] {
			continue
		}
		select {
		case s.queue <- m:
		default:
			h.dropped++
			delete(h.streams, s)
			close(s.queue)
		}
	}
}

// Listen opens a stream of the kinds, nil for all, from now on or from behind the
// message of an ID, or with [Oldest] all that are kept. Whoever opens one closes it with Leave.
func (h *Hub[T]) Listen(after string, kinds map[string]bool) (*Stream[T], StreamStart[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	queue := make(chan StreamMessage[T], streamQueue)
	s := &Stream[T]{Messages: queue, queue: queue, kinds: kinds}
	h.streams[s] = true
	seq, ok := h.parseID(after)
	if after == Oldest {
		seq, ok = h.oldest()-1, true
	}
	if !ok || seq+1 < h.oldest() {
		return s, StreamStart[T]{ID: h.id(h.next - 1), Gap: after != ""}
	}
	from := StreamStart[T]{ID: h.id(seq)}
	for n := seq + 1; n < h.next; n++ {
		if m := h.ring[n%StreamMemory]; kinds == nil || kinds[m.Kind] {
			from.Missed = append(from.Missed, m)
		}
	}
	return s, from
}

// Leave closes a stream.
func (h *Hub[T]) Leave(s *Stream[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
}

// Newest returns at most n messages for which pick is true, the newest first.
func (h *Hub[T]) Newest(n int, pick func(T) bool) []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []T
	for seq := h.next - 1; seq >= h.oldest() && len(found) < n; seq-- {
		if m := h.ring[seq%StreamMemory]; pick(m.Value) {
			found = append(found, m.Value)
		}
	}
	return found
}

// Streams returns how many streams are open, and how many were dropped.
func (h *Hub[T]) Streams() (open int, dropped uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams), h.dropped
}

func (h *Hub[T]) id(seq uint64) string { return h.run + "-" + strconv.FormatUint(seq, 10) }

// parseID reads an ID of this run. It needs the lock.
func (h *Hub[T]) parseID(id string) (seq uint64, ok bool) {
	run, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	return seq, err == nil && run == h.run && seq < h.next
}

// oldest is the number of the oldest message that is kept. It needs the lock.
func (h *Hub[T]) oldest() uint64 {
	if h.next <= StreamMemory {
		return 1
	}
	return h.next - StreamMemory
}
