package redis

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"edgeguard/aggregator"
	fleet "edgeguard/aggregator/redis"
	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
	"edgeguard/ring"
	"edgeguard/shard"
)

const (
	// boot is that of every node: none restarts.
	boot = "0000000000000000"
	// meterID is the fingerprint of the one meter.
	meterID = 0x6c6f6164
	// nodeMemory bounds a node's counts.
	nodeMemory = 512 << 20
	// sweepEvery is the time between two sweeps of a node, and sweepPages what each visits:
	// as in a replay.
	sweepEvery, sweepPages = 5 * time.Second, 4
)

// Options says how edgeguard limits.
type Options struct {
	Limit  uint32 // of a client in a window, after the guard
	Window time.Duration
	Nodes  int // 1 or more
	// Quiet pushes only clients that have a share of the limit: the product's default.
	Quiet bool
	// Block refuses a client for ten minutes whose total in the fleet is proven to be
	// over the limit: the product's default. Without it a rule of action deny is
	// meant, which refuses while the total is over.
	Block bool
}

// blockFor is how long a block lasts by default.
const blockFor = 10 * time.Minute

// Pushes is edgeguard's way: each node decides by what it counts itself and by what
// Redis answered to its last push, and pushes every half second of the requests'
// time. Redis is given that time too. Blocks reach the other nodes immediately. It counts
// what it allows, as the other limiters do; the product counts what it refuses, too. It is
// not safe for concurrent use.
type Pushes struct {
	client  *Client
	config  fleet.Config
	options Options
	nodes   []*pushing
	blocked map[netip.Prefix]time.Time // until when

	now      time.Time
	due      time.Time // of the next round
	swept    time.Time
	news     bool   // something was counted since the last round
	watched  uint64 // keys that were added to the fleet's watch list
	position string // in that list
}

// pushing is one node.
type pushing struct {
	fleet  *Pushes
	table  *shard.Table
	totals *aggregator.Totals
	pusher *fleet.Pusher
}

// NewPushes returns a fleet whose counts begin empty; Redis must have none of an
// earlier one. It installs the function library.
func NewPushes(ctx context.Context, c *Client, o Options) (*Pushes, error) {
	p := &Pushes{client: c, config: c.config(), options: o, position: "0", blocked: make(map[netip.Prefix]time.Time)}
	p.config.Retention = o.Window
	if _, err := fleet.Install(ctx, c.redis); err != nil {
		return nil, err
	}
	named := make(map[[8]byte]string)
	for i := range o.Nodes {
		if err := p.join(fmt.Sprint("node-", i), named); err != nil {
			return nil, err
		}
	}
	return p, p.explain(p.nodes[0].pusher.Claim(ctx))
}

// join adds a node.
func (p *Pushes) join(name string, named map[[8]byte]string) error {
	n := &pushing{fleet: p, table: shard.New(shard.NewMemory(nodeMemory), shard.Config{Seed: 1})}
	renews := p.options.Limit
	if p.options.Block {
		renews = 0
	}
	n.totals = aggregator.New(aggregator.Config{
		Meters: []aggregator.Meter{{
			Fingerprint: meterID, Width: p.width(), Limit: p.options.Limit, Renews: renews, Table: n.table,
		}},
		Boot: time.Unix(0, 0), Quiet: p.options.Quiet, MaxNodes: p.options.Nodes, Nodes: p.options.Nodes, Seed: 1,
	})
	c := p.config
	c.Node = name
	named[aggregator.NodeID(name, boot)] = name
	var err error
	n.pusher, err = fleet.NewPusher(p.client.redis, c, n, named)
	p.nodes = append(p.nodes, n)
	return err
}

// explain makes an error of a pusher one for people.
func (p *Pushes) explain(err error) error {
	if err == nil {
		return nil
	}
	return p.config.Explain(err)
}

func (p *Pushes) width() uint32 { return uint32(p.options.Window / time.Second / ring.Slots) }

func (p *Pushes) slot(now time.Time) uint32 { return uint32(now.Unix() / int64(p.width())) }

// Take is as in [limiter.Limiter], at the first node.
func (p *Pushes) Take(now time.Duration, client uint32, cost uint16) (limiter.Decision, error) {
	r := traffic.Request{At: now - sinceEpoch(0), Client: client, Cost: cost}
	return p.take(context.Background(), &r)
}

// TakeAll decides all requests, each at its node, and pushes what is due before
// each. decisions is as long as requests.
func (p *Pushes) TakeAll(ctx context.Context, requests []traffic.Request, decisions []limiter.Decision) (err error) {
	for i := range requests {
		if decisions[i], err = p.take(ctx, &requests[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pushes) take(ctx context.Context, r *traffic.Request) (d limiter.Decision, err error) {
	if err := p.pass(ctx, traffic.Start.Add(r.At)); err != nil {
		return d, err
	}
	n, addr, slot := p.nodes[r.Node], r.Addr(), p.slot(p.now)
	if until := p.blocked[prefix(addr)]; until.After(p.now) {
		return limiter.Decision{RetryAfter: until.Sub(p.now)}, nil
	}
	op := shard.Op{Addr: addr, Now: slot, Slot: slot}
	count := n.table.Add(&op).Count // a cost of 0 only asks
	p.news = true
	rest := n.totals.Rest(0, &op, count+uint32(r.Cost))
	if count+uint32(r.Cost)+rest > p.options.Limit {
		n.totals.Count(0, &op, count) // the next push asks what the others have by then
		return limiter.Decision{Count: float64(count + rest), RetryAfter: p.wait(n, r, rest)}, nil
	}
	op.Cost = r.Cost
	counted := n.table.Add(&op).Count
	n.totals.Count(0, &op, counted)
	return limiter.Decision{Allowed: true, Count: float64(counted + rest)}, nil
}

// wait returns when a refused client is to come again, and blocks it, if that is how the
// fleet limits.
func (p *Pushes) wait(n *pushing, r *traffic.Request, rest uint32) time.Duration {
	addr, slot := r.Addr(), p.slot(p.now)
	switch {
	case p.options.Block:
		p.block(prefix(addr))
		return blockFor
	case uint32(r.Cost) > p.options.Limit:
		return limiter.Silent
	}
	left := p.options.Limit - min(p.options.Limit, uint32(r.Cost)+rest)
	free := slot + n.table.Until(addr, "", slot, left)
	return time.Unix(int64(free)*int64(p.width()), 0).Sub(p.now)
}

// block has all nodes refuse a client.
func (p *Pushes) block(client netip.Prefix) { p.blocked[client] = p.now.Add(blockFor) }

// prefix returns what is counted of an address: the product's default.
func prefix(addr netip.Addr) netip.Prefix {
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	of, _ := addr.Prefix(bits) // of an address that is valid
	return of
}

// pass moves the time on, and has every node do what was due by then.
func (p *Pushes) pass(ctx context.Context, now time.Time) error {
	if !p.due.IsZero() && !now.Before(p.due) {
		p.now = p.due
		if err := p.round(ctx); err != nil {
			return err
		}
	}
	if p.due.IsZero() || !now.Before(p.due) {
		p.due = now.Truncate(fleet.DefaultPush).Add(fleet.DefaultPush)
	}
	p.now = now
	if now.Sub(p.swept) >= sweepEvery {
		p.swept = now
		for _, n := range p.nodes {
			n.table.Sweep(p.slot(now), sweepPages)
			n.totals.Sweep(now)
		}
	}
	return nil
}

// round has every node push, and then push what the fleet watches, until no node
// has another key watched.
func (p *Pushes) round(ctx context.Context) error {
	if !p.news {
		return nil
	}
	p.news = false
	sent := uint64(0)
	for _, n := range p.nodes {
		if err := n.pusher.Round(ctx, p.now); err != nil {
			return p.explain(err)
		}
		sent += n.totals.Stats().WatchesSent
	}
	if sent == p.watched {
		return nil
	}
	p.watched = sent
	for {
		keys, position, err := p.nodes[0].pusher.Watched(ctx, p.position)
		if err != nil {
			return p.explain(err)
		}
		if p.position = position; len(keys) == 0 {
			return nil
		}
		for _, n := range p.nodes {
			if err := n.pusher.PushWatched(ctx, keys, p.now); err != nil {
				return p.explain(err)
			}
		}
	}
}

// Finish pushes what is left.
func (p *Pushes) Finish(ctx context.Context) error { return p.round(ctx) }

// Pushed returns how many keys were pushed so far: a call has up to 200.
func (p *Pushes) Pushed() (keys uint64) {
	for _, n := range p.nodes {
		s := n.totals.Stats()
		keys += s.Pushed
	}
	return keys
}
