// Package replay runs recorded events through the same detector that decides
// live, on a clock made of the events' own times, and reports whom the rules
// would have blocked, when, and what other thresholds would have done.
//
// It enforces nothing and keeps nothing. One run uses one goroutine for
// deciding; its source may read and parse on others.
package replay

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/hostaddr"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Source gives recorded events in batches. A batch is valid until the next
// call; io.EOF follows the last.
type Source interface {
	Next() ([]edgeguard.Event, error)
}

// Config says what a replay decides by.
type Config struct {
	Rules *rules.Set
	// Allow is never blocked and not counted.
	Allow []netip.Prefix
	// Protected is what a live node would not block: it is counted, and its
	// crossings are alarms that refuse nobody.
	Protected hostaddr.Set
	// Node is the name for events that carry none.
	Node string
	// Memory holds the tables. Where it is full they forget their coolest
	// keys, and the report says how many.
	Memory *shard.Memory
	// MaxBlocks is how many blocks may stand at a time, on each node; what more is
	// made takes the place of another. 0 is no bound.
	MaxBlocks int
	// MaxRows is how many offenders are kept, of all rules together: those with the
	// most refused events, where there are more. One takes about 500 bytes. 0 is no
	// bound.
	MaxRows int
	// Crossed hears each crossing as it happens, in order. Nil: nobody hears.
	Crossed func(edgeguard.Crossing)
	// Tune also keeps how high the count stood at every event, which the
	// thresholds' shares are computed from.
	Tune bool
}

// sweepPages is how many pages of each table one sweep looks at. Sweeping a
// little at each new slot keeps the tables small without a pause.
const sweepPages = 4

// Run replays all events of source. It returns what it has so far, together
// with the error, when the source fails or ctx is done.
func Run(ctx context.Context, source Source, c Config) (*Report, error) {
	r := newRun(c)
	defer r.detector.Close(nil)
	for ctx.Err() == nil {
		events, err := source.Next()
		r.decide(events)
		if errors.Is(err, io.EOF) {
			return r.report(), nil
		}
		if err != nil {
			return r.report(), err
		}
	}
	return r.report(), ctx.Err()
}

// decideSize is how many events are decided at once.
const decideSize = 64

// run is one replay under way.
type run struct {
	config   Config
	detector *detector.Detector
	list     *blocklist.List

	// now is the newest event time seen: the replay's clock. first is the
	// oldest.
	now, first time.Time
	swept      int64 // the second of the last sweep
	nows       [decideSize]time.Time
	verdicts   [decideSize]edgeguard.Verdict

	ledger *ledger
}

func newRun(c Config) *run {
	r := &run{config: c, ledger: newLedger(&c)}
	r.list = blocklist.New(blocklist.Config{Allow: c.Allow, Most: c.MaxBlocks})
	dc := detector.Config{Rules: c.Rules, Memory: c.Memory, List: r.list, Node: c.Node, Peaks: true, Crossed: r.crossed}
	if c.Tune {
		dc.Counted = r.ledger.counted
	}
	r.detector = detector.New(dc)
	return r
}

// decide advances the clock through a batch, decides it and tallies the
// verdicts.
func (r *run) decide(events []edgeguard.Event) {
	if len(events) == 0 {
		return
	}
	if r.first.IsZero() {
		r.first, r.now = events[0].Time, events[0].Time
	}
	for len(events) > 0 {
		n := min(len(events), decideSize)
		r.decideSome(events[:n])
		events = events[n:]
	}
	r.sweep()
}

// decideSome decides as many events as stay in the first cache with their
// instants and verdicts.
func (r *run) decideSome(events []edgeguard.Event) {
	nows, verdicts := r.nows[:len(events)], r.verdicts[:len(events)]
	for i := range events {
		nows[i] = r.advance(events[i].Time)
	}
	r.detector.DecideBatch(nows, events, verdicts)
	for i := range verdicts {
		r.ledger.decided(&verdicts[i], events[i].Addr)
	}
}

// advance moves the clock to t, if that is ahead, and gives the clock.
func (r *run) advance(t time.Time) time.Time {
	if t.After(r.now) {
		r.now = t
	} else if t.Before(r.first) {
		r.first = t
	}
	return r.now
}

// sweep does a little housekeeping each time the clock has moved on.
func (r *run) sweep() {
	if sec := r.now.Unix(); sec != r.swept {
		r.swept = sec
		r.detector.Sweep(r.now, sweepPages)
		r.list.Sweep(r.now)
	}
}

func (r *run) crossed(c edgeguard.Crossing) { r.ledger.crossed(c) }
