package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/watch"
	"edgeguard/eventlog"
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
	return s.stream(w, r, streamed{kinds: kinds, after: q["after"]})
}

// streamed is what a stream sends: events of some kinds, nil for all, and the
// figures of keys. After is the parameter of its name.
type streamed struct {
	kinds []string
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
	stream, behind := s.Events().Listen(wanted.kinds)
	defer s.Events().Leave(stream)
	out := eventWriter{watch.NewStreamWriter(w), s.View}
	wanted.after = cmp.Or(r.Header.Get("Last-Event-ID"), wanted.after)
	if r.Method == http.MethodHead || !out.catchUp(r.Context(), &wanted, behind) {
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

// eventWriter writes one client's stream of what a view shows.
type eventWriter struct {
	*watch.StreamWriter
	view *admin.View
}

// missedPage is how many events that a stream missed are read at once.
const missedPage = 100

// catchUp sends where a stream begins, and what was missed up to an event. It returns false
// once the client does not accept it.
func (o *eventWriter) catchUp(ctx context.Context, wanted *streamed, upTo uint64) bool {
	from := upTo
	if wanted.after != "" {
		var gap bool
		lost := admin.Event{Kind: admin.EventGap, Text: "events after that ID are no longer stored, or are an import's"}
		if from, gap = o.view.Since(ctx, wanted.after, upTo, wanted.kinds); gap && !o.Event("", admin.EventGap, lost) {
			return false
		}
	}
	if !o.Begin(strconv.FormatUint(from, 10)) {
		return false
	}
	for more := from < upTo; more; {
		page := o.view.Past(context.WithoutCancel(ctx), eventlog.Query{After: from, Before: upTo + 1, Kinds: wanted.kinds}, missedPage)
		for i := range page.Events {
			if !o.Event(page.Events[i].ID, page.Events[i].Kind, &page.Events[i]) {
				return false
			}
		}
		from, _ = strconv.ParseUint(page.Next, 10, 64)
		more = page.Next != "" && ctx.Err() == nil
	}
	return true
}

func (o *eventWriter) event(m watch.StreamMessage[*admin.Event]) bool {
	e := m.Value
	if o.view.Discreet() {
		if e = e.WithoutNote(); e.Change != nil {
			return true
		}
	}
	return o.Event(m.ID, m.Kind, e)
}

// readKinds reads a list of some kinds; nil stands for all.
func readKinds(text string) ([]string, *call.Problem) {
	if text == "" {
		return nil, nil
	}
	kinds, all := strings.Split(text, ","), admin.EventKinds()
	for _, name := range kinds {
		if !slices.Contains(all, name) {
			return nil, call.NewProblem(http.StatusBadRequest, "kind", call.Clip(name)+" is not a kind of event", "use "+strings.Join(all, ", "))
		}
	}
	return kinds, nil
}
