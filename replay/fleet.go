package replay

import (
	"context"
	"errors"
	"io"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/detector"
	"edgeguard/shard"
)

// Fleet is how the nodes of a replay add up what they count.
type Fleet struct {
	// Redis is the server that adds up. Its namespace must be the replay's own:
	// the fleet's clock there is that of the events. Node and Boot are set for
	// each node.
	Redis redis.Config
	// Quiet, MaxNodes, Share and MaxSuspects are those of a live fleet.
	Quiet       bool
	MaxNodes    int
	Share       float64
	MaxSuspects int
}

// RunFleet replays all events of source, each on the node that it names: one
// detector, blocklist and pusher a node, and a real Redis that adds up their
// counts. Blocks reach the other nodes immediately. Counts are pushed at every
// push interval of the events' time that has an event.
//
// When the source or Redis fails or ctx is done, it returns what it has so far
// together with the error.
func RunFleet(ctx context.Context, source Source, c Config, f Fleet) (*Report, error) {
	r, err := newFleetRun(ctx, c, f)
	if err != nil {
		return nil, err
	}
	defer r.close(ctx)
	for ctx.Err() == nil {
		events, err := source.Next()
		for i := range events {
			r.config.Crawlers.MarkClient(events[i].Time, &events[i])
			err := r.decide(ctx, &events[i])
			r.flood.CountSources(r.now, events[i:i+1])
			if err != nil {
				return r.report(), err
			}
		}
		if errors.Is(err, io.EOF) {
			return r.report(), r.round(ctx)
		}
		if err != nil {
			return r.report(), err
		}
	}
	return r.report(), ctx.Err()
}

// patience is how long a replay waits for an answer: no request waits for it.
const patience = 30 * time.Second

// fleetRun is a replay of several nodes in progress.
type fleetRun struct {
	config Config
	fleet  Fleet
	client goredis.UniversalClient
	ledger *ledger
	flood  *detector.FloodWatch

	now, first    time.Time // as in run
	due           time.Time // when the next round of pushes is
	watches       uint64    // keys that were added to the watch list
	watchPosition string    // how far the watch list was read

	nodes  []*replayNode
	byName map[string]*replayNode
	names  map[[8]byte]string
}

func newFleetRun(ctx context.Context, c Config, f Fleet) (*fleetRun, error) {
	client, err := redis.NewClient(forNode(f.Redis, "replay"))
	if err != nil {
		return nil, err
	}
	r := &fleetRun{config: c, fleet: f, client: client, ledger: newLedger(&c), flood: detector.NewFloodWatch(c.Flood, 0), watchPosition: "0",
		byName: make(map[string]*replayNode), names: make(map[[8]byte]string)}
	first, err := r.join("")
	if err == nil {
		if err = first.pusher.Claim(ctx); err != nil {
			err = f.Redis.Explain(err)
		}
	}
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return r, nil
}

// forNode returns the settings of one node. Boots separate nodes that restart,
// and in a replay none does.
func forNode(c redis.Config, name string) redis.Config {
	c.Node, c.Boot = name, "0000000000000000"
	c.Timeout = patience
	return c
}

// close removes what the replay left in Redis, if there is still time for it.
func (r *fleetRun) close(ctx context.Context) {
	_ = r.nodes[0].pusher.RemoveClaim(context.WithoutCancel(ctx)) // a few hundred bytes stay if it fails
	_ = r.client.Close()
	for _, m := range r.nodes {
		m.Close(nil)
	}
}

// decide lets the event's node decide it, after the pushes that were due before
// it.
func (r *fleetRun) decide(ctx context.Context, event *edgeguard.Event) error {
	if r.first.IsZero() || event.Time.Before(r.first) {
		r.first = event.Time
	}
	if event.Time.After(r.now) {
		if !r.due.IsZero() && !event.Time.Before(r.due) {
			if err := r.round(ctx); err != nil {
				return err
			}
		}
		r.now = event.Time
	}
	if r.due.IsZero() {
		r.due = r.now.Truncate(r.interval()).Add(r.interval())
	}
	m, err := r.join(event.Node)
	if err != nil {
		return err
	}
	m.decide(event)
	return nil
}

func (r *fleetRun) interval() time.Duration {
	if r.fleet.Redis.Push > 0 {
		return r.fleet.Redis.Push
	}
	return redis.DefaultPush
}

// round pushes what the nodes have counted since the last round, and does what
// follows from it.
func (r *fleetRun) round(ctx context.Context) error {
	r.due = time.Time{}
	watches := uint64(0)
	for _, m := range r.nodes {
		if m.counted {
			m.counted = false
			if err := m.pusher.Round(ctx, r.now); err != nil {
				return r.fleet.Redis.Explain(err)
			}
		}
		watches += m.Totals.Stats().WatchesSent
	}
	if watches == r.watches {
		return nil
	}
	r.watches = watches
	return r.spread(ctx)
}

// spread makes every node push what it has of the keys that one of them added
// to the watch list, until no node adds another.
func (r *fleetRun) spread(ctx context.Context) error {
	for {
		keys, place, err := r.nodes[0].pusher.Watched(ctx, r.watchPosition)
		if err != nil {
			return r.fleet.Redis.Explain(err)
		}
		if len(keys) == 0 {
			return nil
		}
		r.watchPosition = place
		for _, m := range r.nodes {
			if err := m.pusher.PushWatched(ctx, keys, r.now); err != nil {
				return r.fleet.Redis.Explain(err)
			}
		}
	}
}

// join returns the node of a name, a new one if there is none. A new node
// receives no earlier blocks: they are few and short in a replay of one file.
func (r *fleetRun) join(name string) (*replayNode, error) {
	if name == "" {
		name = r.config.Node
	}
	if name == "" {
		name = "node"
	}
	if m := r.byName[name]; m != nil {
		return m, nil
	}
	m, err := newReplayNode(r, name)
	if err != nil {
		return nil, err
	}
	r.nodes, r.byName[name] = append(r.nodes, m), m
	r.names[aggregator.NodeID(name, forNode(r.fleet.Redis, name).Boot)] = name
	for _, m := range r.nodes {
		m.Totals.SetNodes(len(r.nodes), r.now)
	}
	return m, nil
}

func (r *fleetRun) crossed(c edgeguard.Crossing) { r.ledger.crossed(c) }

// report adds up the results of all nodes.
func (r *fleetRun) report() *Report {
	for _, m := range r.nodes {
		m.TellWaiting(r.now)
	}
	rep := &Report{First: r.first, Last: r.now, Keys: r.ledger.rows.countKeys(), RowsDropped: r.ledger.rows.dropped, Floods: r.flood.Finish()}
	all := make([]peaks, len(r.config.Rules.Meters))
	for _, m := range r.nodes {
		rep.Stats = sum(rep.Stats, m.Stats())
		rep.BlocksEvicted = max(rep.BlocksEvicted, m.list.Stats().Evicted)
		for i := range all {
			meter := &r.config.Rules.Meters[i]
			rep.Evicted += all[i].takePeaks(m.Detector, meter, r.now)
			rep.Evicted += r.ledger.meters[i].wide.takePeaks(m.Detector, meter, r.now, func(e shard.Entry) { r.ledger.peaked(i, e) })
		}
		_, late := m.Outages()
		rep.OutageLate += late
		if len(r.config.Clients) == 0 && rep.FrontDoor == "" {
			rep.FrontDoor = m.doors.Shown()
		}
	}
	rep.Outages = r.ledger.outages
	r.ledger.subtractProtected(&rep.Stats)
	for i := range all {
		for _, e := range all[i] {
			r.ledger.notePeak(i, e)
		}
	}
	for i, a := range r.ledger.order {
		rep.Rules = append(rep.Rules, RuleReport{
			Rule: a.rule, Meter: a.meter, Tally: r.ledger.meters[a.rule.Meter].tally, Offenders: r.ledger.rows.sorted(i), Refused: a.refused,
			Wide: r.ledger.widePeaks(a.rule),
		})
		for _, m := range r.nodes {
			r.ledger.addExcused(i, m.Detector, &rep.Rules[i])
		}
	}
	return rep
}

func sum(a, b detector.Stats) detector.Stats {
	return detector.Stats{
		Events: a.Events + b.Events, Passed: a.Passed + b.Passed, Shadowed: a.Shadowed + b.Shadowed, Denied: a.Denied + b.Denied,
		Spared: a.Spared + b.Spared, Late: a.Late + b.Late, Early: a.Early + b.Early,
	}
}
