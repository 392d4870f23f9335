package fleetlink

import (
	"errors"
	"iter"
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
)

// peer is the node as its fleet link sees it: a redis.Peer.
type peer struct {
	Config
	heartbeats heartbeats
	boot       *boot
	redisAhead atomic.Int64 // how far Redis' clock is ahead of the wall clock
}

var _ redis.Peer = (*peer)(nil)

func (p *peer) Counts() *aggregator.Totals        { return p.Pipeline.Current().Member.Totals }
func (p *peer) Now() time.Time                    { return p.Clock.Now() }
func (p *peer) Epoch(t time.Time) time.Time       { return p.Clock.Epoch(t) }
func (p *peer) Local(t time.Time) time.Time       { return p.Clock.Local(t) }
func (p *peer) Own() []netip.Addr                 { return p.Config.Own() }
func (p *peer) RulesDigest() string               { return p.Pipeline.Current().Digest }
func (p *peer) Waits(n int) (int, []netip.Prefix) { return p.Quarantine.Waits(n) }
func (p *peer) Cleared(b edgeguard.Block)         { p.Pipeline.Forget(p.Clock.Now(), b) }
func (p *peer) Calm(kind, about string)           { p.Alarms.Recovers(fleetAlarm(kind), about) }
func (p *peer) Alarm(kind, about, text string) {
	p.Alarms.Begins(p.Clock.Now(), fleetAlarm(kind), about, text)
}

// Width implements redis.Peer. An explanation may ask after a reload has left
// the fleet.
func (p *peer) Width(meter uint64) uint32 {
	if member := p.Pipeline.Current().Member; member != nil {
		return member.Width(meter)
	}
	return 0
}

// Over implements redis.Peer.
func (p *peer) Over(k aggregator.Key, count uint32, split []aggregator.NodeCount) {
	now := p.Clock.Now()
	if held, ok := p.Held(k.Prefix); k.HasAddress() && ok && held == k {
		p.Quarantine.Release(now, k.Prefix)
	}
	p.Pipeline.Over(now, k, count, split)
	if !k.HasAddress() {
		return
	}
	if p.Evidence.Split(k.Prefix, split) {
		p.Touch()
	}
	if p.Pipeline.Current().Member.Blocked(now, k) && p.Quarantine.Found(now, k.Prefix) {
		p.Touch()
	}
}

// Settled implements redis.Peer. A block of another node that is charged to the
// budget is not settled: what the nodes counted may confirm it.
func (p *peer) Settled(k aggregator.Key, peak uint32) bool {
	return p.Pipeline.Current().Member.Settled(p.Clock.Now(), k, peak) && (!k.HasAddress() || p.Quarantine.ChargedShare(k.Prefix) == 0)
}

// Weighs implements redis.Peer.
func (p *peer) Weighs(k aggregator.Key) bool {
	if !k.HasAddress() {
		return false
	}
	_, held := p.Quarantine.HeldBlock(k.Prefix)
	return held || p.Quarantine.ChargedShare(k.Prefix) > 0
}

// Merge implements redis.Peer. A block that would refuse too much is held.
func (p *peer) Merge(b edgeguard.Block, t blocklist.Trust) (changed bool, err error) {
	changed, err = p.Quarantine.Admit(p.Clock.Now(), p.Pipeline.Current().Detector, b, t)
	if errors.Is(err, aggregator.ErrHeld) {
		p.Touch() // a restart must not put it in force
	}
	return changed, err
}

// Held implements redis.Peer.
func (p *peer) Held(prefix netip.Prefix) (key aggregator.Key, held bool) {
	member := p.Pipeline.Current().Member
	b, held := p.Quarantine.HeldBlock(prefix)
	if !held || member == nil {
		return key, false
	}
	return member.KeyOfBlock(b.Rule, b.Prefix)
}

// Crowded implements redis.Peer.
func (p *peer) Crowded(b edgeguard.Block, t blocklist.Trust) bool {
	return !t.Forced && !b.Lifted && !b.Allow && b.Rule != edgeguard.ManualRule && p.List.Crowded(b.Prefix)
}

// Records implements redis.Peer.
func (p *peer) Records() iter.Seq2[edgeguard.Block, blocklist.Trust] {
	return func(yield func(edgeguard.Block, blocklist.Trust) bool) {
		for b, t := range p.List.Records() {
			if p.travels(&b) && !yield(b, t) {
				return
			}
		}
	}
}

// Block implements redis.Peer.
func (p *peer) Block(prefix netip.Prefix) (edgeguard.Block, blocklist.Trust, bool) {
	b := p.List.BlockOf(p.Clock.Now(), prefix)
	if b == nil || !p.travels(b) {
		return edgeguard.Block{}, blocklist.Trust{}, false
	}
	return *b, p.List.Trust(prefix), true
}

// Slack implements redis.Peer.
func (p *peer) Slack(b edgeguard.Block) time.Duration {
	c := p.Pipeline.Current().Config
	for i := range c.Rules.Rules {
		if r := &c.Rules.Rules[i]; r.Name == b.Rule && r.WhileOver {
			return fleet.ExtensionSlack(&b, c.Node, c.Rules.Meters[r.Meter].Window)
		}
	}
	return 0
}

// Refused implements redis.Peer.
func (p *peer) Refused(prefix netip.Prefix) (events uint32, ok bool) {
	events, _, ok = p.List.Refusals(prefix)
	return events, ok
}

// Unsplit implements redis.Peer.
func (p *peer) Unsplit(b edgeguard.Block) (key aggregator.Key, here uint32, ok bool) {
	g := p.Pipeline.Current()
	if b.Lifted || b.Allow || b.Origin != g.Config.Node {
		return key, 0, false
	}
	if here, ok = detector.TwoParts(b.Reason, g.Config.Rules.MeasureOf(b.Rule)); !ok {
		return key, 0, false
	}
	key, ok = g.Member.KeyOfBlock(b.Rule, b.Prefix)
	return key, here, ok
}

// Reword implements redis.Peer.
func (p *peer) Reword(b edgeguard.Block, split []aggregator.NodeCount) edgeguard.Block {
	b = p.List.Reword(b, aggregator.SplitReason(split, p.Pipeline.Current().Config.Rules.MeasureOf(b.Rule)), p.Clock.Now())
	p.Evidence.Split(b.Prefix, split)
	p.Touch()
	return b
}

// Skew implements redis.Peer. offset is how far the fleet's clock is ahead of
// the wall clock.
func (p *peer) Skew(offset time.Duration, trusted bool) {
	p.redisAhead.Store(int64(offset))
	if trusted {
		p.Clock.Correct(offset)
	}
}

// Rebooted implements redis.Peer.
func (p *peer) Rebooted(boot string) bool {
	if !p.boot.renew(boot) {
		return false
	}
	p.Counts().Redrawn(p.Clock.Now())
	return true
}

// Fleet implements redis.Peer.
func (p *peer) Fleet(beats []aggregator.Heartbeat) {
	p.heartbeats.update(beats, p.Clock.Now())
	peers := checks.NewPeers()
	for i := range beats {
		if b := &beats[i]; b.Node != p.Pipeline.Current().Config.Node {
			peers.Add(b.Node, b.Own, b.Signed)
		}
	}
	p.UsePeers(peers)
}

// fleetAlarm names an alarm of the link: "fleet" where the node is cut off.
func fleetAlarm(kind string) string {
	if kind == alarm.Fleet {
		return kind
	}
	return alarm.Fleet + "_" + kind
}
