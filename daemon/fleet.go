package daemon

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/config"
	"edgeguard/rules"
)

// mostOwn bounds the addresses that a node tells the others of itself: a beat
// holds a kilobyte.
const mostOwn = 16

// wantFleet gives the link of the config's fleet; none for a node alone. The
// boot is the process's own and outlives a reload: what was pushed under it
// must not be pushed under another.
func (n *Node) wantFleet(c *config.Config) []part {
	if c.Fleet == nil {
		return nil
	}
	rc := RedisConfig(c, n.options.Version)
	rc.Boot = n.boot
	link, err := redis.New(rc, n.fleetSeams())
	if err != nil {
		n.alarms.happened(n.clock.Now(), alarmFleet, "", "the node is alone: "+err.Error())
		return nil
	}
	return []part{{key: fmt.Sprintf("fleet %+v", rc), shows: link, run: link.Run}}
}

// link is the node's way to its fleet; nil for a node alone.
func (n *Node) link() *redis.Link {
	if links := shows[*redis.Link](&n.fleets); len(links) > 0 {
		return links[0]
	}
	return nil
}

// fleetSeams is what the link needs of the node. Each function takes the core
// of its moment: a reload replaces it.
func (n *Node) fleetSeams() redis.Node {
	return redis.Node{
		Counts: func() *aggregator.Node { return n.core.Load().member.Counts },
		Width:  func(meter uint64) uint32 { return n.core.Load().member.Width(meter) },
		Now:    n.clock.Now, Epoch: n.clock.Epoch, Local: n.clock.Local,
		Over: n.fleetOver, Stands: n.fleetStands,
		Merge: n.fleetMerge, Records: n.fleetRecords, Cleared: n.fleetCleared,
		Own: n.ownAddresses, Fleet: n.fleetMet, Skew: n.fleetSkew,
		Alarm: func(kind, about, text string) { n.alarms.begins(n.clock.Now(), fleetAlarm(kind), about, text) },
		Calm:  n.fleetCalm,
	}
}

// fleetOver hands a total to the rules, as a decision would be: a reload waits
// for it.
func (n *Node) fleetOver(k aggregator.Key, peak uint32, reason string) {
	gate := n.gate.of(k.Prefix.Addr())
	gate.RLock()
	defer gate.RUnlock()
	n.core.Load().member.Over(n.clock.Now(), k, peak, reason)
}

// fleetStands reports whether the block of a key that is over stands already.
func (n *Node) fleetStands(k aggregator.Key, _ uint32) bool {
	stands := n.core.Load().member.Stands(n.clock.Now(), k)
	if stands {
		n.hold.Found(k.Prefix)
	}
	return stands
}

// fleetMerge takes in a block or an allowance that another node made; a block may
// have to wait for a word.
func (n *Node) fleetMerge(b edgeguard.Block, forced bool) (changed bool, err error) {
	changed, err = n.hold.Merge(n.clock.Now(), n.core.Load().detector, b, forced)
	if errors.Is(err, aggregator.ErrHeld) {
		n.state.touch() // a restart must not put it in force
	}
	return changed, err
}

// fleetRecords gives what the fleet is to know of the list.
func (n *Node) fleetRecords() iter.Seq2[edgeguard.Block, bool] {
	return func(yield func(edgeguard.Block, bool) bool) {
		c := n.core.Load().config
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
	if link := n.link(); link != nil && isFleets(n.core.Load().config, &b) {
		link.Changed(b, n.list.Forced(b.Prefix))
	}
}

// fleetCleared forgets what was counted of a prefix that another node unblocked.
func (n *Node) fleetCleared(prefix netip.Prefix, _ time.Time) {
	gate := n.gate.of(prefix.Addr())
	gate.RLock()
	defer gate.RUnlock()
	n.core.Load().detector.Clear(n.clock.Now(), prefix)
}

// fleetSkew has the clock follow the fleet's: offset is how far that is ahead of
// the wall clock.
func (n *Node) fleetSkew(offset time.Duration, trusted bool) {
	if trusted {
		n.clock.Correct(offset)
	}
}

// ownAddresses gives those of this host that another node could see as a
// client's, and must not block.
func (n *Node) ownAddresses() []netip.Addr {
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

// fleetMet hears of the fleet's nodes every two seconds: their own addresses
// are not to be blocked.
func (n *Node) fleetMet(beats []redis.Beat) {
	n.heard.hear(beats, n.clock.Now())
	peers := make(map[netip.Addr]string)
	for i := range beats {
		if b := &beats[i]; b.Node != n.core.Load().config.Node {
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

func (n *Node) fleetCalm(kind, about string) {
	if n.alarms.ends(fleetAlarm(kind), about) {
		n.log.Info("works again", "alarm", fleetAlarm(kind), "about", about)
	}
}

// followFleet has the rules go by whether the fleet is there, and the counts by
// the clock's offset: once a second.
func (n *Node) followFleet(now time.Time) {
	core, link := n.core.Load(), n.link()
	if core.config.Fleet == nil {
		return
	}
	core.detector.SetFleetLost(link == nil || !link.Up())
	core.member.Counts.SetOffset(n.clock.Offset(), now)
}
