package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/holders"
	"edgeguard/aggregator"
	"edgeguard/aggregator/figures"
	"edgeguard/aggregator/redis"
	"edgeguard/aggregator/roster"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/heldon"
	"edgeguard/node/overlay"
	"edgeguard/node/supervisor"
	"edgeguard/rules"
)

// fleet is the node's part in its fleet; a node alone has no link.
type fleet struct {
	peer       *peer
	version    string
	boot       *boot
	run        string // tells this process from another under its boot
	links      supervisor.Group[*fleetLink]
	thresholds overlay.FleetPart
	asker      heldon.Asker
	figures    *figures.Board
	log        *slog.Logger
}

// settle makes the link that runs that of the config. The boot is the
// process's own and outlives a reload: what was pushed under it must not be
// pushed under another.
func (f *fleet) settle(ctx context.Context, c *config.Config) {
	var want []*fleetLink
	f.peer.list.SetSigns(c.Fleet != nil && c.Fleet.KeyFile != "")
	if c.Fleet != nil {
		rc := RedisConfig(c, f.version)
		rc.Boot, rc.Run = f.boot.String(), f.run
		key := fmt.Sprintf("fleet %+v", rc)
		rc.Figures = f.figures
		rc.Stopped, f.boot.stopped = f.boot.stopped, time.Time{} // a later link follows this process's own
		rc.Thresholds = f.thresholds
		link, err := redis.New(rc, f.peer)
		if err != nil {
			f.peer.alarms.Happened(f.peer.Now(), alarm.Fleet, "", "the node works without its fleet: "+err.Error())
		} else {
			want = append(want, &fleetLink{key: key, Link: link, peer: f.peer})
			f.announce(&rc, key)
		}
	}
	f.links.Settle(ctx, want)
}

// announce logs which fleet a link joins, unless it does already.
func (f *fleet) announce(rc *redis.Config, key string) {
	if running := f.links.All(); len(running) == 0 || running[0].key != key {
		f.log.Info("joining the fleet", "redis", strings.Join(rc.Addresses, ", "), "namespace", rc.Namespace, "node", rc.Node, "boot", rc.Boot, "boot_kept", f.boot.kept, "key", keyOf(rc))
	}
}

// keyOf says whether what a node says in its fleet can be told from what others write
// into Redis.
func keyOf(rc *redis.Config) string {
	switch {
	case rc.KeyFile == "":
		return "none: who can write to Redis can speak for a node"
	case rc.Require:
		return "require " + rc.KeyFile
	}
	return "accept " + rc.KeyFile
}

// link is the node's way to its fleet; nil for a node alone.
func (f *fleet) link() *redis.Link {
	if links := f.links.All(); len(links) > 0 {
		return links[0].Link
	}
	return nil
}

// publish passes a change of the list to the other nodes.
func (f *fleet) publish(b edgeguard.Block) {
	if link := f.link(); link != nil && isFleets(f.peer.pipeline.Current().Config, &b) {
		link.Changed(b, f.peer.list.Trust(b.Prefix))
	}
}

// ask has what this node counts of a held block pushed immediately.
func (f *fleet) ask(b edgeguard.Block) {
	member, link := f.peer.pipeline.Current().Member, f.link()
	if member == nil || link == nil {
		return
	}
	if key, ok := member.Key(b.Rule, b.Prefix); ok {
		link.PushNow(key)
	}
}

// follow has the rules go by whether the fleet is there, and the counts by the
// clock's offset: once a second.
func (f *fleet) follow(now time.Time) {
	g, link := f.peer.pipeline.Current(), f.link()
	if g.Config.Fleet == nil {
		return
	}
	g.Detector.SetFleetLost(link == nil || !link.Up())
	g.Member.Totals.SetOffset(f.peer.clock.Offset(), now)
}

// resync has what the previous config refused compared with the fleet again.
func (f *fleet) resync() {
	if link := f.link(); link != nil {
		link.Resync()
	}
}

// sign has the link publish the signatures of all records by the key that signs now.
func (f *fleet) sign() {
	if link := f.link(); link != nil {
		link.SignAll()
	}
}

// nodes returns the fleet's nodes as this one last received them.
func (f *fleet) nodes() []admin.FleetNode { return f.peer.heartbeats.nodes(f.peer.Now()) }

// said returns what the nodes say of their work, and has the others say it.
func (f *fleet) said() []figures.Said {
	return f.figures.Look(f.peer.Now(), f.peer.pipeline.Current().Config.Node, f.boot.String())
}

// shares returns what each node of the fleet counts of keys; nil where Redis
// cannot be asked, which the link reports itself.
func (f *fleet) shares(ctx context.Context, keys []aggregator.Key, settle bool) [][]admin.NodeCount {
	link := f.link()
	if link == nil || !link.Up() {
		return nil
	}
	all, err := link.NodeCounts(ctx, keys, settle)
	if err != nil {
		return nil
	}
	out := make([][]admin.NodeCount, len(all))
	for i, shares := range all {
		for _, s := range shares {
			out[i] = append(out[i], admin.NodeCount{Node: s.Node, Count: s.Count})
		}
	}
	return out
}

// held asks the other nodes which records they hold.
func (f *fleet) held(ctx context.Context) (holders.FleetHeld, error) {
	return f.asker.Ask(ctx, f.peer.pipeline.Current().Config.Node)
}

func (f *fleet) look(ctx context.Context) (roster.Look, error) {
	link := f.link()
	if link == nil || !link.Up() {
		return roster.Look{}, errors.New("this node is cut off from its fleet: /readyz names the fault")
	}
	return link.Look(ctx)
}

// isFleets reports whether a record concerns the other nodes: all but blocks of
// rules with scope node, and what is too wide.
func isFleets(c *config.Config, b *edgeguard.Block) bool {
	switch {
	case !aggregator.Travels(b.Prefix):
		return false
	case b.Allow:
		return true
	}
	for i := range c.Rules.Rules {
		if r := &c.Rules.Rules[i]; r.Name == b.Rule {
			return r.Scope == rules.ScopeFleet
		}
	}
	return true
}

// fleetLink is the link as a service.
type fleetLink struct {
	*redis.Link
	key  string
	peer *peer
}

func (l *fleetLink) Key() string             { return l.key }
func (l *fleetLink) Alarm() (string, string) { return alarm.Fleet, "" }

// Report adds how the link works.
func (l *fleetLink) Report(out *admin.Stats) {
	f, s := out.Fleet, l.Stats()
	if f == nil { // a reload has just ended the fleet
		return
	}
	f.Alive, f.Joins, f.Syncs = s.Nodes, s.Reconnects, s.Syncs
	f.PushLag, f.Rounds, f.Calls, f.Pushed, f.Dropped = s.PushLag.Seconds(), s.Rounds, s.Calls, s.Keys, s.Dropped
	f.Published, f.Received, f.Rejected = s.Published, s.Received, s.Rejected
	f.Kept, f.Records, f.Unpublished = s.Kept, s.Records, s.Waiting
	f.Unsigned, f.Replaced = s.Unsigned, s.Replaced
	f.FanOut, f.FanOutMost = s.FanOut.Seconds(), l.peer.heartbeats.fanOut(s.FanOutMost, l.peer.Now()).Seconds()
	f.Ahead, f.Within = s.Ahead.Seconds(), s.Within.Seconds()
	f.LastError, f.Errors = s.LastError, s.Errors
	switch {
	case !s.Up:
		f.Trouble, f.Fix, f.Since = s.Fault.Kind, s.Fault.Text, s.Since.UTC()
	case s.Reconnects == 0: // nothing has failed yet, and nothing worked
		f.Trouble, f.Fix = "joining", "the node is joining the fleet: wait a moment"
	default:
		f.Up, f.Trouble, f.Fix = true, "", ""
	}
}

// Run implements service.
func (l *fleetLink) Run(ctx context.Context, _ func()) error {
	l.Link.Run(ctx) // it has its own alarms
	return nil
}
