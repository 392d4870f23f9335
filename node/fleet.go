package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/rules"
)

// mostOwn bounds the addresses that a node tells the others of itself: a beat
// holds a kilobyte.
const mostOwn = 16

// wantFleet gives the link of the config's fleet; none for a node alone. The
// boot is the process's own and outlives a reload: what was pushed under it
// must not be pushed under another.
func (n *Node) wantFleet(c *config.Config) []*fleetLink {
	if c.Fleet == nil {
		return nil
	}
	rc := RedisConfig(c, n.options.Version)
	rc.Boot = n.boot
	link, err := redis.New(rc, peer{n})
	if err != nil {
		n.alarms.happened(n.clock.Now(), alarmFleet, "", "the node is alone: "+err.Error())
		return nil
	}
	fanOut := func(most time.Duration) time.Duration { return n.heard.fanOut(most, n.clock.Now()) }
	return []*fleetLink{{key: fmt.Sprintf("fleet %+v", rc), Link: link, fanOut: fanOut}}
}

// fleetLink is the link as a service.
type fleetLink struct {
	*redis.Link
	key    string
	fanOut func(most time.Duration) time.Duration
}

func (l *fleetLink) Key() string             { return l.key }
func (l *fleetLink) Alarm() (string, string) { return alarmFleet, "" }

// Report adds how the link works.
func (l *fleetLink) Report(out *admin.Stats) {
	f, s := out.Fleet, l.Stats()
	if f == nil { // a reload has just ended the fleet
		return
	}
	f.Alive, f.Joins, f.Syncs = s.Nodes, s.Reconnects, s.Syncs
	f.PushLag, f.Rounds, f.Calls, f.Pushed, f.Dropped = s.PushLag.Seconds(), s.Rounds, s.Calls, s.Keys, s.Dropped
	f.Published, f.Received, f.Rejected = s.Published, s.Received, s.Poison
	f.Kept, f.Records = s.Kept, s.Records
	f.FanOut, f.FanOutMost = s.FanOut.Seconds(), l.fanOut(s.FanOutMost).Seconds()
	f.Ahead, f.Within = s.Ahead.Seconds(), s.Within.Seconds()
	f.LastError, f.Errors = s.LastError, s.Errors
	switch {
	case !s.Up:
		f.Trouble, f.Fix, f.Since = s.Trouble.Kind, s.Trouble.Text, s.Since.UTC()
	case s.Reconnects == 0: // nothing has failed yet, and nothing worked
		f.Trouble, f.Fix = "joining", "the fleet is being joined: wait a moment"
	default:
		f.Up, f.Trouble, f.Fix = true, "", ""
	}
}

// Run implements service.
func (l *fleetLink) Run(ctx context.Context, _ func()) error {
	l.Link.Run(ctx) // it has its own alarms
	return nil
}

// link is the node's way to its fleet; nil for a node alone.
func (n *Node) link() *redis.Link {
	if links := n.fleets.all(); len(links) > 0 {
		return links[0].Link
	}
	return nil
}

// Over hands a total to the rules, as a decision would be: a reload waits
// for it.
func (n peer) Over(k aggregator.Key, peak uint32, reason string) {
	n.pipeline.Over(n.clock.Now(), k, peak, reason)
}

// Settled reports whether all that follows from a total stands already.
func (n peer) Settled(k aggregator.Key, peak uint32) bool {
	member, now := n.pipeline.Current().Member, n.clock.Now()
	if member.Blocked(now, k) {
		n.hold.Found(k.Prefix)
	}
	return member.Settled(now, k, peak)
}

// Merge takes in a block or an allowance that another node made; a block may
// have to wait for a word.
func (n peer) Merge(b edgeguard.Block, forced bool) (changed bool, err error) {
	changed, err = n.hold.Admit(n.clock.Now(), n.pipeline.Current().Detector, b, forced)
	if errors.Is(err, aggregator.ErrHeld) {
		n.state.touch() // a restart must not put it in force
	}
	return changed, err
}

// Crowded reports that a rule's block is to be passed over where the fleet's
// whole list is read.
func (n peer) Crowded(b edgeguard.Block, forced bool) bool {
	return !forced && !b.Lifted && !b.Allow && b.Rule != edgeguard.ManualRule && n.list.Crowded(b.Prefix)
}

// Records gives what the fleet is to know of the list.
func (n peer) Records() iter.Seq2[edgeguard.Block, bool] {
	return func(yield func(edgeguard.Block, bool) bool) {
		c := n.pipeline.Current().Config
		for b, forced := range n.list.Records() {
			if isFleets(c, &b) && !yield(b, forced) {
				return
			}
		}
	}
}

// isFleets reports whether a block or an allowance concerns the other nodes: all
// but blocks of rules with scope node, and allowances that are too wide.
func isFleets(c *config.Config, b *edgeguard.Block) bool {
	if b.Allow {
		return aggregator.Travels(b.Prefix)
	}
	for i := range c.Rules.Rules {
		if r := &c.Rules.Rules[i]; r.Name == b.Rule {
			return r.Scope == rules.ScopeFleet
		}
	}
	return true
}

// tellFleet tells the other nodes of a change of the list.
func (n *Node) tellFleet(b edgeguard.Block) {
	if link := n.link(); link != nil && isFleets(n.pipeline.Current().Config, &b) {
		link.Changed(b, n.list.Forced(b.Prefix))
	}
}

// Unsplit tells of a block that an event here made by the fleet's count: its
// reason names no other node.
func (n peer) Unsplit(b edgeguard.Block) (key aggregator.Key, here uint32, ok bool) {
	g := n.pipeline.Current()
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
func (n peer) Reword(b edgeguard.Block, reason string) edgeguard.Block {
	b = n.list.Reword(b, reason, n.clock.Now())
	n.state.touch()
	return b
}

// Skew has the clock follow the fleet's: offset is how far that is ahead of
// the wall clock.
func (n peer) Skew(offset time.Duration, trusted bool) {
	if trusted {
		n.clock.Correct(offset)
	}
}

// Own gives those of this host that another node could see as a
// client's, and must not block.
func (n peer) Own() []netip.Addr {
	var own []netip.Addr
	if set := n.spared.Load(); set != nil {
		for _, p := range *set {
			addr := p.Prefix.Addr()
			if strings.HasPrefix(p.Reason, "interface ") && p.Prefix.IsSingleIP() && addr.IsGlobalUnicast() && len(own) < mostOwn {
				own = append(own, addr)
			}
		}
	}
	return own
}

// Fleet hears of the fleet's nodes every two seconds: their own addresses
// are not to be blocked.
func (n peer) Fleet(beats []aggregator.Heartbeat) {
	n.heard.hear(beats, n.clock.Now())
	peers := make(map[netip.Addr]string)
	for i := range beats {
		if b := &beats[i]; b.Node != n.pipeline.Current().Config.Node {
			for _, addr := range b.Own {
				peers[addr] = b.Node
			}
		}
	}
	n.peers.Store(&peers)
}

// fleetAlarm names an alarm of the link: "fleet" where the node is cut off.
func fleetAlarm(kind string) string {
	if kind == alarmFleet {
		return kind
	}
	return alarmFleet + "_" + kind
}

func (n peer) Calm(kind, about string) {
	if n.alarms.ends(fleetAlarm(kind), about) {
		n.log.Info("works again", append(alarmNames(fleetAlarm(kind)), "about", about)...)
	}
}

// followFleet has the rules go by whether the fleet is there, and the counts by
// the clock's offset: once a second.
func (n *Node) followFleet(now time.Time) {
	core, link := n.pipeline.Current(), n.link()
	if core.Config.Fleet == nil {
		return
	}
	core.Detector.SetFleetLost(link == nil || !link.Up())
	core.Member.Totals.SetOffset(n.clock.Offset(), now)
}
