package server

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/watch"
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
	kinds, p := readKinds(q["kind"], admin.EventKinds())
	if p != nil {
		return p
	}
	return s.stream(w, r, streamed{kinds: kinds, after: q["after"]})
}

// streamed is what a stream sends: events of some kinds, nil for all, and the
// figures of keys. After is the parameter of its name.
type streamed struct {
	kinds map[string]bool
	keys  []watch.Key
	after string
}

// stream answers with a stream, unless too many are open.
func (s *reads) stream(w http.ResponseWriter, r *http.Request, wanted streamed) *call.Problem {
	release := s.Events().Place(watch.StreamReader{Browser: r.Header.Get("Sec-Fetch-Mode") != "", Guest: s.Discreet()})
	if release == nil {
		return call.NewProblem(http.StatusServiceUnavailable, "", fmt.Sprintf("the %d streams of the node, or those of its browsers or guests, are all open", watch.MostStreams), "close one, or use the unix socket")
	}
	defer release()
	stream, start := s.Events().Listen(cmp.Or(r.Header.Get("Last-Event-ID"), wanted.after), wanted.kinds)
	defer s.Events().Leave(stream)
	out := eventWriter{watch.NewStreamWriter(w), s.Discreet()}
	if r.Method == http.MethodHead || !out.catchUp(start) {
		return nil
	}
	var figures <-chan watch.Message
	if wanted.keys != nil {
		viewer := s.Board().Join(wanted.keys)
		defer s.Board().Leave(viewer)
		if figures = viewer.Messages; !out.figures(s.Board().Look(wanted.keys)) {
			return nil
		}
	}
	watch.Follow(r.Context(), out.StreamWriter, stream.Messages, out.event, figures, out.figures)
	return nil
}

// eventWriter writes one client's stream.
type eventWriter struct {
	*watch.StreamWriter
	// discreet leaves out the notes.
	discreet bool
}

// catchUp sends where a stream begins and what was missed. It returns false once
// the client does not accept it.
func (o *eventWriter) catchUp(from watch.StreamStart[*admin.Event]) bool {
	lost := admin.Event{Kind: admin.EventGap, Text: "the events after that ID are no longer stored"}
	if from.Gap && !o.Event("", admin.EventGap, lost) || !o.Begin(from.ID) {
		return false
	}
	for _, m := range from.Missed {
		if !o.event(m) {
			return false
		}
	}
	return true
}

func (o *eventWriter) event(m watch.StreamMessage[*admin.Event]) bool {
	e := m.Value
	if o.discreet {
		e = e.WithoutNote()
	}
	return o.Event(m.ID, m.Kind, e)
}

// readKinds reads a list of some kinds; nil stands for all.
func readKinds(text string, all []string) (map[string]bool, *call.Problem) {
	if text == "" {
		return nil, nil
	}
	kinds := make(map[string]bool)
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(all, name) {
			return nil, call.NewProblem(http.StatusBadRequest, "kind", call.Clip(name)+" is not a kind of event", "use "+strings.Join(all, ", "))
		}
		kinds[name] = true
	}
	return kinds, nil
}
