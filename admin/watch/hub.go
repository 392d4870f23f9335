package watch

import (
	"slices"
	"sync"
)

// streamQueue is how many messages wait for one stream before it is closed.
const streamQueue = 256

// Hub sends messages to its streams. Publishing never waits: a stream that does not keep up
// is dropped and counted. It is safe for concurrent use. Make one with [NewHub].
type Hub[T any] struct {
	mu      sync.Mutex // guards the fields below
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
	kinds []string
}

// NewHub makes a hub without streams.
func NewHub[T any]() *Hub[T] { return &Hub[T]{streams: make(map[*Stream[T]]bool)} }

// Publish queues a message, which is made in the order of the IDs, for the streams of its kind.
func (h *Hub[T]) Publish(kind string, with func() (id string, value T)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, value := with()
	for s := range h.streams {
		if s.kinds != nil && !slices.Contains(s.kinds, kind) {
			continue
		}
		select {
		case s.queue <- StreamMessage[T]{id, kind, value}:
		default:
			h.dropped++
			delete(h.streams, s)
			close(s.queue)
		}
	}
}

// Listen opens a stream of the kinds, nil for all, from now on, and calls at, after which it
// begins. Whoever opens one closes it with Leave.
func (h *Hub[T]) Listen(kinds []string, at func()) *Stream[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	queue := make(chan StreamMessage[T], streamQueue)
	s := &Stream[T]{Messages: queue, queue: queue, kinds: kinds}
	h.streams[s] = true
	at()
	return s
}

// Leave closes a stream.
func (h *Hub[T]) Leave(s *Stream[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
}

// Streams returns how many streams are open, and how many were dropped.
func (h *Hub[T]) Streams() (open int, dropped uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams), h.dropped
}
