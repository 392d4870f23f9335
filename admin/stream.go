package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// beat is how often a stream without events shows that it is alive.
	beat = 15 * time.Second
	// writeTime is how long a client may take to accept what is written.
	writeTime = 10 * time.Second
)

// streamEvents sends events as they happen (text/event-stream) until the
// client goes, the node stops, or the client turns out to be too slow. With
// Last-Event-ID, or the parameter `after` for clients that cannot set a header, it
// begins with what was missed.
func (s *reads) streamEvents(w http.ResponseWriter, r *http.Request) *Problem {
	q, p := readQuery(r, "kind", "after")
	if p != nil {
		return p
	}
	kinds, p := readKinds(q["kind"])
	if p != nil {
		return p
	}
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = q["after"]
	}
	most := maxStreams
	if s.discreet {
		most /= 2 // every user of this host may come so: the operator's own are kept
	}
	queue, start := s.events.listen(after, kinds, most)
	if queue == nil {
		return problem(http.StatusServiceUnavailable, "", fmt.Sprintf("%d streams are already open", most), "close one, or use the unix socket")
	}
	defer s.events.leave(queue)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx before it must not hold events back
	out := eventWriter{w: w, control: http.NewResponseController(w), discreet: s.discreet}
	if r.Method != http.MethodHead && out.open(start) {
		out.follow(r.Context(), queue)
	}
	return nil
}

// readKinds reads a list of kinds; nil stands for all.
func readKinds(text string) (map[string]bool, *Problem) {
	if text == "" {
		return nil, nil
	}
	kinds := make(map[string]bool)
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(eventKinds, name) {
			return nil, problem(http.StatusBadRequest, "kind", clip(name)+" is not a kind of event", "use "+strings.Join(eventKinds, ", "))
		}
		kinds[name] = true
	}
	return kinds, nil
}

// eventWriter writes one client's stream. Its methods are false once the client
// does not take it.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	// discreet leaves out the notes.
	discreet bool
}

// open sends where the stream begins, so that a client that is dropped before
// its first event can come back too, and what was missed.
func (o *eventWriter) open(from beginning) bool {
	if from.gap && !o.gap() || !o.write(fmt.Sprintf("id: %s\nretry: 2000\n\n", from.id)) {
		return false
	}
	for _, e := range from.missed {
		if !o.event(e) {
			return false
		}
	}
	return true
}

// follow sends events until something ends it.
func (o *eventWriter) follow(ctx context.Context, s *stream) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for ok := true; ok; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			ok = o.write(": alive\n\n")
		case e, more := <-s.queue:
			if !more { // too slow; it can come back with the last ID that it has
				return
			}
			ok = o.event(e)
		}
	}
}

func (o *eventWriter) event(e *Event) bool {
	if o.discreet {
		e = e.withoutNote()
	}
	data, err := json.Marshal(e)
	return err == nil && o.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, data))
}

func (o *eventWriter) gap() bool {
	data, err := json.Marshal(Event{Kind: EventGap, Text: "the events after that ID are no longer stored"})
	return err == nil && o.write(fmt.Sprintf("event: %s\ndata: %s\n\n", EventGap, data))
}

func (o *eventWriter) write(text string) bool {
	// A writer that cannot set a deadline is one of a test, without a network.
	_ = o.control.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := o.w.Write([]byte(text)); err != nil {
		return false
	}
	return o.control.Flush() == nil
}
