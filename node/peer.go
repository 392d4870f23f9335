package node

import (
	"errors"
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/quarantine"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/detector"
	"edgeguard/node/pipeline"
)

// peer is the node as its fleet link sees it: a redis.Peer.
type peer struct {
	pipeline   *pipeline.Pipeline
	list       *blocklist.List
	quarantine *quarantine.Quarantine
	protected  *protected
	clock      *clockguard.Clock
	alarms     *alarms
	heard      heardNodes
	touch      func() // has the state saved soon
}

var _ redis.Peer = (*peer)(nil)

func (p *peer) Counts() *aggregator.Totals               { return p.pipeline.Current().Member.Totals }
func (p *peer) Width(meter uint64) uint32                { return p.pipeline.Current().Member.Width(meter) }
func (p *peer) Now() time.Time                           { return p.clock.Now() }
func (p *peer) Epoch(t time.Time) time.Time              { return p.clock.Epoch(t) }
func (p *peer) Local(t time.Time) time.Time              { return p.clock.Local(t) }
func (p *peer) Own() []netip.Addr                        { return p.protected.own() }
func (p *peer) Cleared(prefix netip.Prefix, _ time.Time) { p.pipeline.Clear(p.clock.Now(), prefix) }
func (p *peer) Calm(kind, about string)                  { p.alarms.recovers(fleetAlarm(kind), about) }
func (p *peer) Alarm(kind, about, text string) {
	p.alarms.begins(p.clock.Now(), fleetAlarm(kind), about, text)
}

// Over hands a total to the rules, as a decision would be: a reload waits
// for it.
func (p *peer) Over(k aggregator.Key, peak uint32, reason string) {
	p.pipeline.Over(p.clock.Now(), k, peak, reason)
}

// Settled reports whether all that follows from a total stands already.
func (p *peer) Settled(k aggregator.Key, peak uint32) bool {
	member, now := p.pipeline.Current().Member, p.clock.Now()
	if member.Blocked(now, k) {
		p.quarantine.Found(k.Prefix)
	}
	return member.Settled(now, k, peak)
}

// Merge takes in a block or an allowance that another node made; a block may
// have to wait for a word.
func (p *peer) Merge(b edgeguard.Block, forced bool) (changed bool, err error) {
	changed, err = p.quarantine.Admit(p.clock.Now(), p.pipeline.Current().Detector, b, forced)
	if errors.Is(err, aggregator.ErrHeld) {
		p.touch() // a restart must not put it in force
	}
	return changed, err
}

// Crowded reports that a rule's block is to be passed over where the fleet's
// whole list is read.
func (p *peer) Crowded(b edgeguard.Block, forced bool) bool {
	return !forced && !b.Lifted && !b.Allow && b.Rule != edgeguard.ManualRule && p.list.Crowded(b.Prefix)
}

// Records gives what the fleet is to know of the list.
func (p *peer) Records() iter.Seq2[edgeguard.Block, bool] {
	return func(yield func(edgeguard.Block, bool) bool) {
		c := p.pipeline.Current().Config
		for b, forced := range p.list.Records() {
			if isFleets(c, &b) && !yield(b, forced) {
				return
			}
		}
	}
}

// Unsplit tells of a block that an event here made by the fleet's count: its
// reason names no other node.
func (p *peer) Unsplit(b edgeguard.Block) (key aggregator.Key, here uint32, ok bool) {
	g := p.pipeline.Current()
	if b.Lifted || b.Allow || b.Origin != g.Config.Node {
		return key, 0, false
	}
	if here, ok = detector.TwoParts(b.Reason); !ok {
		return key, 0, false
	}
	key, ok = g.Member.Key(b.Rule, b.Prefix)
	return key, here, ok
}

// Reword has the list say a block's reason as the fleet is told it.
func (p *peer) Reword(b edgeguard.Block, reason string) edgeguard.Block {
	b = p.list.Reword(b, reason, p.clock.Now())
	p.touch()
	return b
}

// Skew has the clock follow the fleet's: offset is how far that is ahead of
// the wall clock.
func (p *peer) Skew(offset time.Duration, trusted bool) {
	if trusted {
		p.clock.Correct(offset)
	}
}

// Fleet hears of the fleet's nodes every two seconds: their own addresses
// are not to be blocked.
func (p *peer) Fleet(beats []aggregator.Heartbeat) {
	p.heard.hear(beats, p.clock.Now())
	peers := make(map[netip.Addr]string)
	for i := range beats {
		if b := &beats[i]; b.Node != p.pipeline.Current().Config.Node {
			for _, addr := range b.Own {
				peers[addr] = b.Node
			}
		}
	}
	p.protected.peers.Store(&peers)
}

// fleetAlarm names an alarm of the link: "fleet" where the node is cut off.
func fleetAlarm(kind string) string {
	if kind == alarmFleet {
		return kind
	}
	return alarmFleet + "_" + kind
}
