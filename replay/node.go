package replay

import (
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/member"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/frontdoor"
)

// sweepEvery is how much of the events' time passes between two sweeps of a
// node.
const sweepEvery = 5 * time.Second

// replayNode is one node of a replayed fleet.
type replayNode struct {
	*member.Member
	run    *fleetRun
	doors  *frontdoor.Sources
	list   *blocklist.List
	pusher *redis.Pusher
	swept  time.Time
	// counted says that there was an event since the last round.
	counted bool
}

func newReplayNode(r *fleetRun, name string) (*replayNode, error) {
	m := &replayNode{run: r, doors: frontdoor.New(0), list: blocklist.New(blocklist.Config{Allow: r.config.Allow, Most: r.config.MaxBlocks})}
	m.Member = member.New(detector.Config{
		Rules: r.config.Rules, Memory: r.config.Memory, List: m.list, Node: name, Peaks: true, Past: true, Crossed: r.crossed, Doors: m.doors, Clients: r.config.Clients,
		Own: r.config.Own, Turned: r.ledger.turned, Lifted: r.ledger.lifted,
	}, aggregator.Config{
		// Nothing was restored: every slot may be pushed.
		Boot: time.Unix(0, 0), Quiet: r.fleet.Quiet, MaxNodes: r.fleet.MaxNodes, Nodes: 1,
		Share: r.fleet.Share, MaxSuspects: r.fleet.MaxSuspects,
		Seed: 1, // nobody waits for a lock here, and two replays of a file should make the same pushes
	})
	m.list.OnChange(m.changed)
	var err error
	m.pusher, err = redis.NewPusher(r.client, forNode(r.fleet.Redis, name), pusherPeer{m}, r.names)
	return m, err
}

// changed carries a block to the other nodes. A node that has it already
// reports no change, which ends the exchange.
func (m *replayNode) changed(b edgeguard.Block) {
	for _, other := range m.run.nodes {
		if other != m {
			if changed, _ := other.list.Merge(b, m.run.now); changed { // what one list accepts, all accept: their settings are the same
				other.Received(m.run.now, &b)
			}
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

// pusherPeer is a replayNode as its pusher sees it.
type pusherPeer struct{ *replayNode }

func (s pusherPeer) Counts() *aggregator.Totals  { return s.Member.Totals }
func (s pusherPeer) Now() time.Time              { return s.run.now }
func (s pusherPeer) Epoch(t time.Time) time.Time { return t }
func (s pusherPeer) Local(t time.Time) time.Time { return t }
func (s pusherPeer) Over(k aggregator.Key, peak uint32, split []aggregator.NodeCount) {
	s.Member.ApplyFleetCount(s.run.now, k, peak, split)
}
func (s pusherPeer) Weighs(aggregator.Key) bool { return false }
func (s pusherPeer) Settled(k aggregator.Key, peak uint32) bool {
	return s.Member.Settled(s.run.now, k, peak)
}
