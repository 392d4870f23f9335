package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"edgeguard/admin/call"
	"edgeguard/admin/live"
)

// streamEvents sends events as they happen (text/event-stream) until the
// client goes, the node stops, or the client turns out to be too slow. With
// Last-Event-ID, or the parameter `after` for clients that cannot set a header, it
// begins with what was missed.
func (s *reads) streamEvents(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "kind", "after")
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
	stream, start := s.events.hub.Listen(after, kinds, most)
	if stream == nil {
		return call.NewProblem(http.StatusServiceUnavailable, "", fmt.Sprintf("%d streams are already open", most), "close one, or use the unix socket")
	}
	defer s.events.hub.Leave(stream)
	out := eventWriter{live.NewWriter(w), s.discreet}
	if r.Method != http.MethodHead && out.catchUp(start) {
		live.Follow(r.Context(), out.Writer, stream, out.event)
	}
	return nil
}

// eventWriter writes one client's stream.
type eventWriter struct {
	*live.Writer
	// discreet leaves out the notes.
	discreet bool
}

// catchUp sends where a stream begins and what was missed. It returns false once
// the client does not accept it.
func (o *eventWriter) catchUp(from live.Start[*Event]) bool {
	lost := Event{Kind: EventGap, Text: "the events after that ID are no longer stored"}
	if from.Gap && !o.Event("", EventGap, lost) || !o.Begin(from.ID) {
		return false
	}
	for _, m := range from.Missed {
		if !o.event(m) {
			return false
		}
	}
	return true
}

func (o *eventWriter) event(m live.Message[*Event]) bool {
	e := m.Value
	if o.discreet {
		e = e.withoutNote()
	}
	return o.Event(m.ID, m.Kind, e)
}

// readKinds reads a list of kinds; nil stands for all.
func readKinds(text string) (map[string]bool, *call.Problem) {
	if text == "" {
		return nil, nil
	}
	kinds := make(map[string]bool)
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(eventKinds, name) {
			return nil, call.NewProblem(http.StatusBadRequest, "kind", call.Clip(name)+" is not a kind of event", "use "+strings.Join(eventKinds, ", "))
		}
		kinds[name] = true
	}
	return kinds, nil
}
