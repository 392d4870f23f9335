package node

import (
	"errors"
	"iter"
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/quarantine"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/detector"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/evidence"
	"edgeguard/node/pipeline"
)

// peer is the node as its fleet link sees it: a redis.Peer.
type peer struct {
	pipeline   *pipeline.Pipeline
	list       *blocklist.List
	quarantine *quarantine.Quarantine
	evidence   *evidence.Kept
	protected  *protected
	clock      *clockguard.Clock
	alarms     *alarm.Tracker
	heartbeats heartbeats
	touch      func() // has the state saved soon
	boot       *boot
	redisAhead atomic.Int64 // how far Redis' clock is ahead of the wall clock
}

var _ redis.Peer = (*peer)(nil)

func (p *peer) Counts() *aggregator.Totals               { return p.pipeline.Current().Member.Totals }
func (p *peer) Now() time.Time                           { return p.clock.Now() }
func (p *peer) Epoch(t time.Time) time.Time              { return p.clock.Epoch(t) }
func (p *peer) Local(t time.Time) time.Time              { return p.clock.Local(t) }
func (p *peer) Own() []netip.Addr                        { return p.protected.own() }
func (p *peer) Waits(n int) (int, []netip.Prefix)        { return p.quarantine.Waits(n) }
func (p *peer) Cleared(prefix netip.Prefix, _ time.Time) { p.pipeline.Clear(p.clock.Now(), prefix) }
func (p *peer) Calm(kind, about string)                  { p.alarms.Recovers(fleetAlarm(kind), about) }
func (p *peer) Alarm(kind, about, text string) {
	p.alarms.Begins(p.clock.Now(), fleetAlarm(kind), about, text)
}

// Width implements redis.Peer. An explanation may ask after a reload has left
// the fleet.
func (p *peer) Width(meter uint64) uint32 {
	if member := p.pipeline.Current().Member; member != nil {
		return member.Width(meter)
	}
	return 0
}

// Over implements redis.Peer.
func (p *peer) Over(k aggregator.Key, count uint32, split []aggregator.NodeCount) {
	now := p.clock.Now()
	p.pipeline.Over(now, k, count, aggregator.SplitReason(split))
	if p.evidence.Split(k.Prefix, split) {
		p.touch()
	}
	if p.pipeline.Current().Member.Blocked(now, k) {
		p.quarantine.Found(k.Prefix)
	}
}

// Settled implements redis.Peer. A block of another node that used some of the
// budget is not settled: what the nodes counted may confirm it.
func (p *peer) Settled(k aggregator.Key, peak uint32) bool {
	return p.pipeline.Current().Member.Settled(p.clock.Now(), k, peak) && !p.quarantine.Charged(k.Prefix)
}

// Merge implements redis.Peer. A block that would refuse too much is held.
func (p *peer) Merge(b edgeguard.Block, t blocklist.Trust) (changed bool, err error) {
	changed, err = p.quarantine.Admit(p.clock.Now(), p.pipeline.Current().Detector, b, t)
	if errors.Is(err, aggregator.ErrHeld) {
		p.touch() // a restart must not put it in force
	}
	return changed, err
}

// Crowded implements redis.Peer.
func (p *peer) Crowded(b edgeguard.Block, t blocklist.Trust) bool {
	return !t.Forced && !b.Lifted && !b.Allow && b.Rule != edgeguard.ManualRule && p.list.Crowded(b.Prefix)
}

// Records implements redis.Peer.
func (p *peer) Records() iter.Seq2[edgeguard.Block, blocklist.Trust] {
	return func(yield func(edgeguard.Block, blocklist.Trust) bool) {
		c := p.pipeline.Current().Config
		for b, t := range p.list.Records() {
			if isFleets(c, &b) && !yield(b, t) {
				return
			}
		}
	}
}

// Block implements redis.Peer.
func (p *peer) Block(prefix netip.Prefix) (edgeguard.Block, blocklist.Trust, bool) {
	b := p.list.Of(p.clock.Now(), prefix)
	if b == nil || !isFleets(p.pipeline.Current().Config, b) {
		return edgeguard.Block{}, blocklist.Trust{}, false
	}
	return *b, p.list.Trust(prefix), true
}

// Refused implements redis.Peer.
func (p *peer) Refused(prefix netip.Prefix) (events uint32, ok bool) {
	events, _, ok = p.list.Refusals(prefix)
	return events, ok
}

// Unsplit implements redis.Peer.
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

// Reword implements redis.Peer.
func (p *peer) Reword(b edgeguard.Block, split []aggregator.NodeCount) edgeguard.Block {
	b = p.list.Reword(b, aggregator.SplitReason(split), p.clock.Now())
	p.evidence.Split(b.Prefix, split)
	p.touch()
	return b
}

// Skew implements redis.Peer. offset is how far the fleet's clock is ahead of
// the wall clock.
func (p *peer) Skew(offset time.Duration, trusted bool) {
	p.redisAhead.Store(int64(offset))
	if trusted {
		p.clock.Correct(offset)
	}
}

// Rebooted implements redis.Peer.
func (p *peer) Rebooted(boot string) bool {
	if !p.boot.renew(boot) {
		return false
	}
	p.Counts().Restored(p.clock.Now())
	return true
}

// Fleet implements redis.Peer.
func (p *peer) Fleet(beats []aggregator.Heartbeat) {
	p.heartbeats.update(beats, p.clock.Now())
	peers := checks.NewPeers()
	for i := range beats {
		if b := &beats[i]; b.Node != p.pipeline.Current().Config.Node {
			peers.Add(b.Node, b.Own, b.Signed)
		}
	}
	p.protected.usePeers(peers)
}

// fleetAlarm names an alarm of the link: "fleet" where the node is cut off.
func fleetAlarm(kind string) string {
	if kind == alarm.Fleet {
		return kind
	}
	return alarm.Fleet + "_" + kind
}
