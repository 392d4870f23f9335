package replay

import (
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/member"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/detector"
)

// sweepEvery is how much of the events' time passes between two sweeps of a
// node.
const sweepEvery = 5 * time.Second

// replayNode is one node of a replayed fleet.
type replayNode struct {
	*member.Member
	run    *fleetRun
	list   *blocklist.List
	pusher *redis.Pusher
	swept  time.Time
	// counted says that there was an event since the last round.
	counted bool
}

func newReplayNode(r *fleetRun, name string) (*replayNode, error) {
	m := &replayNode{run: r, list: blocklist.New(blocklist.Config{Allow: r.config.Allow, Most: r.config.MaxBlocks})}
	m.Member = member.New(detector.Config{
		Rules: r.config.Rules, Memory: r.config.Memory, List: m.list, Node: name, Peaks: true, Crossed: r.crossed,
	}, aggregator.Config{
		// Nothing was restored: every slot may be pushed.
		Boot: time.Unix(0, 0), Quiet: r.fleet.Quiet, MaxNodes: r.fleet.MaxNodes, Nodes: 1,
		Share: r.fleet.Share, MaxSuspects: r.fleet.MaxSuspects,
	})
	m.list.OnChange(m.changed)
	var err error
	m.pusher, err = redis.NewPusher(r.client, forNode(r.fleet.Redis, name), seam{m}, r.names)
	return m, err
}

// changed carries a block to the other nodes. Those that have it hear of no
// change, which ends the round.
func (m *replayNode) changed(b edgeguard.Block) {
	for _, other := range m.run.members {
		if other != m {
			_, _ = other.list.Merge(b, m.run.now) // what one list takes, all take: their settings are the same
		}
	}
}

func (m *replayNode) decide(event *edgeguard.Event) {
	r := m.run
	m.counted = true
	v := m.Decide(r.now, event)
	r.ledger.decided(&v, event.Addr)
	if r.now.Sub(m.swept) >= sweepEvery {
		m.swept = r.now
		m.Sweep(r.now, sweepPages)
		m.list.Sweep(r.now)
		m.Totals.Sweep(r.now)
	}
}

// seam is a replayNode as its pusher sees it.
type seam struct{ *replayNode }

func (s seam) Counts() *aggregator.Totals  { return s.Member.Totals }
func (s seam) Now() time.Time              { return s.run.now }
func (s seam) Epoch(t time.Time) time.Time { return t }
func (s seam) Local(t time.Time) time.Time { return t }
func (s seam) Over(k aggregator.Key, peak uint32, reason string) {
	s.Member.Over(s.run.now, k, peak, reason)
}
func (s seam) Settled(k aggregator.Key, peak uint32) bool {
	return s.Member.Settled(s.run.now, k, peak)
}
