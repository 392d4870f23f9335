// Package replay runs recorded events through the same detector that decides
// live, on a clock made of the events' own times. It reports which addresses
// the rules would have blocked, when, and what other thresholds would have
// done.
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
	"edgeguard/crawlers"
	"edgeguard/detector"
	"edgeguard/frontdoor"
	"edgeguard/hostaddr"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Source returns recorded events in batches. A batch is valid until the next
// call; io.EOF follows the last.
type Source interface {
	Next() ([]edgeguard.Event, error)
}

// Config is what a replay decides by.
type Config struct {
	Rules *rules.Set
	// Allow is never blocked and not counted.
	Allow []netip.Prefix
	// Protected is what a live node would not block: it is counted, and its
	// crossings are alarms and refuse nothing.
	Protected hostaddr.Set
	// Clients are the private networks that are clients; others are spared as front doors', as on
	// a live node, where a source shows no public client.
	Clients []netip.Prefix
	// Node is the name for events that carry none.
	Node string
	// Memory contains the tables. When it is full they evict the keys with the
	// lowest counts, and the report says how many.
	Memory *shard.Memory
	// MaxBlocks is how many blocks may be in force at a time, on each node; one
	// more replaces another. 0 for any number.
	MaxBlocks int
	// MaxRows is how many offenders are kept, of all rules together: those with the
	// most refused events, where there are more. One takes about 500 bytes. 0 is no
	// bound.
	MaxRows int
	// Crossed is called with each crossing, in order. Nil disables it.
	Crossed func(edgeguard.Crossing)
	// Lifted is called with the rule and the prefix of each block that is taken back since
	// the site failed. Nil disables it.
	Lifted func(now time.Time, rule string, prefix netip.Prefix)
	// Own is the names of the site, each of which may fail for itself; nil for none. All
	// files are one source, as those of a log that was rotated are.
	Own *rules.Hosts
	// Spared is [detector.Config]'s.
	Spared int
	// Seen is called with each event before it is decided; its strings are valid
	// during the call. Nil disables it.
	Seen func(*edgeguard.Event)
	// Decided is called with each event and its verdict. Nil disables it.
	Decided func(*edgeguard.Event, edgeguard.Verdict)
	// Tune also keeps how high the count stood at every event, which the
	// thresholds' shares are computed from.
	Tune bool
	// Flood says when fresh sources that can be forged are a flood. Completions are
	// the kinds that were read for it alone: an event of no other kind is not counted.
	Flood       detector.FloodConfig
	Crawlers    *crawlers.Crawlers // who says he is one, and who is; nil for none
	Completions edgeguard.Kind
}

// sweepPages is how many pages of each table one sweep looks at. Sweeping a
// little at each new slot keeps the tables small without a pause.
const sweepPages = 4

// Run replays all events of source. When the source fails or ctx is done, it
// returns what it has so far together with the error.
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

// decideSize is how many events are decided together.
const decideSize = 64

// run is one replay in progress.
type run struct {
	config   Config
	detector *detector.Detector
	list     *blocklist.List
	flood    *detector.FloodWatch
	doors    *frontdoor.Sources
	// uncounted are events of the config's Completions alone.
	uncounted uint64

	// now is the newest event time seen: the replay's clock. first is the
	// oldest.
	now, first time.Time
	swept      int64 // the second of the last sweep
	nows       [decideSize]time.Time
	verdicts   [decideSize]edgeguard.Verdict

	ledger *ledger
}

func newRun(c Config) *run {
	r := &run{config: c, doors: frontdoor.New(0), ledger: newLedger(&c), flood: detector.NewFloodWatch(c.Flood, 0)}
	r.list = blocklist.New(blocklist.Config{Allow: c.Allow, Most: c.MaxBlocks})
	dc := detector.Config{Rules: c.Rules, Memory: c.Memory, List: r.list, Node: c.Node, Peaks: true, Past: true, Crossed: r.crossed, Doors: r.doors, Clients: c.Clients,
		Own: c.Own, Spared: c.Spared, Turned: r.ledger.turned, Lifted: r.ledger.lifted}
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

// decideSome decides a few events, so that they stay in the first-level cache
// with their times and verdicts.
func (r *run) decideSome(events []edgeguard.Event) {
	nows, verdicts := r.nows[:len(events)], r.verdicts[:len(events)]
	noted, second := 0, r.now.Unix()
	for i := range events {
		if events[i].Kind&^r.config.Completions == 0 {
			r.uncounted++
		}
		r.config.Crawlers.MarkClient(events[i].Time, &events[i])
		if r.config.Seen != nil {
			r.config.Seen(&events[i])
		}
		nows[i] = r.advance(events[i].Time)
		if now := nows[i].Unix(); now != second {
			r.flood.CountSources(time.Unix(second, 0), events[noted:i])
			noted, second = i, now
		}
	}
	r.flood.CountSources(r.now, events[noted:])
	r.detector.DecideBatch(nows, events, verdicts)
	for i := range verdicts {
		r.ledger.decided(&verdicts[i], events[i].Addr)
		if r.config.Decided != nil {
			r.config.Decided(&events[i], verdicts[i])
		}
	}
}

// advance moves the clock to t, if that is later, and returns the clock.
func (r *run) advance(t time.Time) time.Time {
	if t.After(r.now) {
		r.now = t
	} else if t.Before(r.first) {
		r.first = t
	}
	return r.now
}

// sweep does a little housekeeping each time the clock has moved.
func (r *run) sweep() {
	if sec := r.now.Unix(); sec != r.swept {
		r.swept = sec
		r.detector.Sweep(r.now, sweepPages)
		r.list.Sweep(r.now)
	}
}

func (r *run) crossed(c edgeguard.Crossing) { r.ledger.crossed(c) }
