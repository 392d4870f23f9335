package console

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// happening is an event in words.
type happening struct {
	At         moment
	Kind       string
	Text       string
	Name, Path string // of the address or network that it is about
}

// happened returns an event in words.
func happened(e *admin.Event, now time.Time) happening {
	h := happening{At: at(e.Time, now), Kind: e.Kind, Text: e.Text}
	switch {
	case e.Block != nil:
		h.Name, h.Path = shortest(e.Block.Prefix), pathOf(e.Block.Prefix)
		h.Text = fmt.Sprintf("blocked for %s by %s on %s%s", words.Length(e.Block.Until.Sub(e.Block.Since)), makerOf(e.Block.Rule), e.Block.Origin, quoted(e.Block.Reason))
		if e.Kind == admin.EventUnblock {
			h.Text = fmt.Sprintf("unblocked on %s%s", e.Block.Origin, quoted(e.Block.Reason))
		}
		if e.Kind == admin.EventEnd {
			h.Text = "the block by " + makerOf(e.Block.Rule) + " ended"
		}
		if e.Ended != nil {
			h.Text += ", " + words.Plural(e.Ended.Refused, "request was", "requests were") + " refused here"
		}
	case e.Allowance != nil:
		h.Name, h.Path = shortest(e.Allowance.Prefix), pathOf(e.Allowance.Prefix)
		verb := "allowed"
		if e.Kind == admin.EventDisallow {
			verb = "no longer allowed, removed"
		}
		h.Text = fmt.Sprintf("%s on %s%s", verb, e.Allowance.Origin, quoted(e.Allowance.Reason))
	case e.Change != nil:
		h.Text = fmt.Sprintf("%s by hand: %s", e.Change.Action, e.Change.Detail)
	case e.Crossing != nil:
		h.Text = fmt.Sprintf("over the limit of %s: %s", e.Crossing.Rule, e.Crossing.Action)
	}
	return h
}

// activityLength is how many events the page shows.
const activityLength = 200

// activityPage is what happened on the node.
type activityPage struct {
	frame
	Chart  *timeChart
	Kind   string // the only kind shown; empty for all
	Kinds  []string
	Events []happening
}

func (p *nodeHandlers) activity(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown := &activityPage{frame: p.frames.of(r, "activity", "Activity"), Kind: r.URL.Query().Get("kind"), Kinds: admin.EventKinds()}
	shown.Chart = chartOf(p.view, r, &shown.frame)
	now, kinds := p.reader.Now(), []string{shown.Kind}
	if shown.Kind == "" { // of crossings there are too many beside others
		kinds = slices.DeleteFunc(admin.EventKinds(), func(kind string) bool {
			return kind == admin.EventCrossing || kind == admin.EventLeftOut || kind == admin.EventListed
		})
	}
	for _, e := range p.view.Recent(r.Context(), activityLength, kinds) {
		shown.Events = append(shown.Events, happened(&e, now))
	}
	return "activity.html", shown
}
