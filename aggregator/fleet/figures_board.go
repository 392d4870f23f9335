package fleet

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"edgeguard/aggregator"
)

const (
	// lookFor is how long a node looks after a page or an answer with figures.
	lookFor = 30 * time.Second
	// figuresEvery is the least time between two texts of a node, whoever looks.
	figuresEvery = 5 * time.Second
	// FiguresFresh is how old figures may be that are shown, and Expires how long Redis
	// keeps those of all nodes after the last was written.
	FiguresFresh = 20 * time.Second
	Expires      = 20 * time.Second
	// MostNodes is of how many nodes a node reads figures.
	MostNodes = 1024
	// spanNodes is in how large a fleet nodes say what they did in spans: who looks reads those of all.
	spanNodes = 100
	// pause is how long nothing is read after a read has failed, or had more than
	// nodes write: what somebody else wrote is not read again and again.
	pause = time.Minute
)

// Said is what a node said of its work.
type Said struct {
	Figures
	Node     string
	LastSeen time.Time // when that was, local
	Signed   bool      // by a key of the fleet, or the node's own
}

// Board is what one node knows of the figures of all. It is safe for concurrent use.
// Make it with [NewBoard]. nil is a node that shows and reports none.
type Board struct {
	own func(asked []aggregator.Span) Figures

	mu     sync.Mutex // guards the fields below
	looked time.Time  // when somebody last looked here
	wrote  time.Time
	resume time.Time       // nothing is read before
	said   map[string]Said // by the names of nodes
	spans  []lookedSpan    // that are looked at, the newest first
	large  bool            // the fleet, so that no node says spans
}

// lookedSpan is a span with when somebody last looked at it.
type lookedSpan struct {
	aggregator.Span
	at time.Time
}

// NewBoard returns a board of a node whose figures own returns, with those of spans.
func NewBoard(own func(asked []aggregator.Span) Figures) *Board {
	return &Board{own: own, said: map[string]Said{}}
}

// KnownFigures returns the figures that are known, this node's first, and has those of the
// other nodes read for the next half minute, also of spans. node and boot are this node's.
func (b *Board) KnownFigures(now time.Time, node, boot string, spans ...aggregator.Span) []Said {
	mine := Said{Figures: b.own(nil), Node: node, LastSeen: now, Signed: true}
	mine.Boot = boot
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looked = now
	for _, s := range spans {
		b.spans = slices.DeleteFunc(b.spans, func(other lookedSpan) bool { return other.Span == s })
		b.spans = slices.Insert(b.spans, 0, lookedSpan{s, now})
	}
	b.spans = b.spans[:min(len(b.spans), aggregator.MostSpans)]
	b.forget(now)
	others := slices.Collect(maps.Values(b.said))
	slices.SortFunc(others, func(x, y Said) int { return cmp.Compare(x.Node, y.Node) })
	return append([]Said{mine}, others...)
}

// Looks reports whether somebody looked here lately.
func (b *Board) Looks(now time.Time) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks(now)
}

// AskedSpans returns the spans that somebody looked at here lately; none in a large fleet, where none is said: there
// each look at another time would have all nodes read another heartbeat for nothing.
func (b *Board) AskedSpans(now time.Time) (spans []aggregator.Span) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.spans {
		if !b.large && now.Sub(s.at) < lookFor {
			spans = append(spans, s.Span)
		}
	}
	return spans
}

func (b *Board) looks(now time.Time) bool {
	return !b.looked.IsZero() && now.Sub(b.looked) < lookFor
}

// forget drops what is too old to be shown.
func (b *Board) forget(now time.Time) {
	maps.DeleteFunc(b.said, func(_ string, s Said) bool { return now.Sub(s.LastSeen) >= FiguresFresh })
}

// FiguresToWrite returns what this node has to write now: its figures, if another node looks and
// they were not written a moment ago. alive are the nodes that are alive.
func (b *Board) FiguresToWrite(now time.Time, node string, alive []aggregator.Heartbeat) (f Figures, ok bool) {
	if !slices.ContainsFunc(alive, func(h aggregator.Heartbeat) bool { return h.Looks && h.Node != node }) {
		return f, false
	}
	b.mu.Lock()
	recent := now.Sub(b.wrote) < figuresEvery
	if !recent {
		b.wrote = now
	}
	b.mu.Unlock()
	if recent {
		return f, false
	}
	var spans []aggregator.Span
	if len(alive) <= spanNodes {
		spans = asked(node, alive)
	}
	return b.own(spans), true
}

// NodesToRead returns the names of the nodes whose figures this node has to read now; none
// while nobody looks here.
func (b *Board) NodesToRead(now time.Time, node string, alive []aggregator.Heartbeat) (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.large = len(alive) > spanNodes
	if !b.looks(now) || now.Before(b.resume) {
		return nil
	}
	b.forget(now)
	for _, h := range alive { // by their names
		if h.Node != node && (len(names) == 0 || names[len(names)-1] != h.Node) && len(names) < MostNodes {
			names = append(names, h.Node)
		}
	}
	return names
}

// TakeFigures keeps what a node said. fleet is Redis' time now. What is invalid, or of
// another time, is ignored.
func (b *Board) TakeFigures(now, fleet time.Time, node, text string, signed bool) {
	f, ok := parseFigures(text)
	age := fleet.Sub(time.UnixMilli(f.At))
	if !ok || age.Abs() >= FiguresFresh {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said[node] = Said{Figures: f, Node: node, LastSeen: now.Add(-max(age, 0)), Signed: signed}
}

// Pause has nothing read for a minute.
func (b *Board) Pause(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resume = now.Add(pause)
}
