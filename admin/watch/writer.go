package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// beat is how often a stream without messages shows that it is alive.
	beat = 15 * time.Second
	// writeTime is how long a client may take to accept what is written.
	writeTime = 10 * time.Second
)

// StreamWriter writes one client's stream of server-sent events. Its methods return
// false once the client does not accept it.
type StreamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// NewStreamWriter begins an answer that is a stream.
func NewStreamWriter(w http.ResponseWriter) *StreamWriter {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx before it must not hold events back
	return &StreamWriter{w: w, control: http.NewResponseController(w)}
}

// Begin sends the ID after which the stream begins, so that a client that is
// dropped before its first event can come back too.
func (o *StreamWriter) Begin(id string) bool {
	return o.write(fmt.Sprintf("id: %s\nretry: 2000\n\n", id))
}

// Event sends a value as JSON, without an ID if that is empty.
func (o *StreamWriter) Event(id, kind string, value any) bool {
	data, err := json.Marshal(value)
	if id != "" {
		id = "id: " + id + "\n"
	}
	return err == nil && o.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, kind, data))
}

// Follow has a stream's messages sent, and those of another source unless that is
// nil, until ctx is done, the client is gone or one of the two is closed: the client
// was too slow, and can come back with the last ID that it has.
func Follow[T, U any](ctx context.Context, o *StreamWriter, messages <-chan StreamMessage[T], send func(StreamMessage[T]) bool, others <-chan U, sendOther func(U) bool) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for ok := true; ok; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			ok = o.write(": alive\n\n")
		case m, more := <-messages:
			ok = more && send(m)
		case m, more := <-others:
			ok = more && sendOther(m)
		}
	}
}

func (o *StreamWriter) write(text string) bool {
	// A writer that cannot set a deadline is one of a test, without a network.
	_ = o.control.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := o.w.Write([]byte(text)); err != nil {
		return false
	}
	return o.control.Flush() == nil
}
