// Package fleetlink is a node's part in its fleet. That is the link to Redis as a
// service, what the link asks of the node, and what the node knows of the others.
//
// It decides nothing itself: package aggregator knows what is pushed, and package
// quarantine what waits.
package fleetlink

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/aggregator/quarantine"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/evidence"
	"edgeguard/node/overlay"
	"edgeguard/node/pipeline"
	"edgeguard/node/supervisor"
)

// Config is what of a node its part in the fleet uses.
type Config struct {
	Pipeline   *pipeline.Pipeline
	List       *blocklist.List
	Quarantine *quarantine.Quarantine
	Evidence   *evidence.Kept
	Clock      *clockguard.Clock
	Alarms     *alarm.Tracker
	Log        *slog.Logger
	Own        func() []netip.Addr       // addresses of this host that others must not block
	UsePeers   func(peers *checks.Peers) // puts the other nodes' addresses in force
	Touch      func()                    // has the state saved soon
	Thresholds func() overlay.FleetPart
	Figures    func(asked []aggregator.Span) fleet.Figures // of this node
	Rules      func() fleet.RuleFacts                      // of this node
	Version    string
	Boot       uint64 // names this run in the fleet
	State      string // the folder in which a boot outlives a restart; empty: it does not
}

// FleetService is a node's part in its fleet; a node alone has no link. It is safe for
// concurrent use.
type FleetService struct {
	peer    *peer
	run     string // distinguishes this process from another under its boot
	links   supervisor.Group[*service]
	asker   heldAsker
	figures *fleet.Board
	rules   *fleet.Comparison
	differ  bool // an alarm says so; of who calls Follow
}

// New returns a node's part in the fleet. Nothing is connected before Settle.
func New(c Config) *FleetService {
	f := &FleetService{
		peer: &peer{Config: c, boot: newBoot(fmt.Sprintf("%016x", c.Boot))}, run: fmt.Sprintf("%08x", uint32(c.Boot)),
		links:   supervisor.Group[*service]{Config: supervisor.Config{Alarms: c.Alarms, Now: c.Clock.Now}},
		figures: fleet.NewBoard(c.Figures), rules: fleet.NewComparison(c.Rules),
	}
	f.asker.Look = f.look
	return f
}

// Settle makes the link that runs that of the config. The boot is the
// process's own and outlives a reload: what was pushed under it must not be
// pushed under another.
func (f *FleetService) Settle(ctx context.Context, c *config.Config) {
	var want []*service
	f.peer.List.SetSigns(c.Fleet != nil && c.Fleet.KeyFile != "")
	f.peer.Alarms.Ends(alarm.Fleet, "")
	if c.Fleet != nil {
		rc, key := f.config(c)
		link, err := redis.New(rc, f.peer)
		if err != nil {
			f.peer.Alarms.Begins(f.peer.Now(), alarm.Fleet, "", "the node works without its fleet: "+err.Error())
		} else {
			want = append(want, &service{key: key, Link: link, peer: f.peer})
			f.announce(&rc, key)
		}
	}
	f.links.Settle(ctx, want)
}

// config returns the settings of the link, and a key: links of equal settings have the same.
func (f *FleetService) config(c *config.Config) (rc redis.Config, key string) {
	rc = RedisConfig(c, f.peer.Version)
	rc.Boot, rc.Run = f.peer.boot.String(), f.run
	key = fmt.Sprintf("fleet %+v", rc)
	rc.Figures, rc.Compared = f.figures, f.rules
	rc.Stopped, f.peer.boot.stopped = f.peer.boot.stopped, time.Time{} // a later link follows this process's own
	rc.Thresholds = f.peer.Thresholds()
	return rc, key
}

// Records returns the records of the list that concern the other nodes.
func (f *FleetService) Records() iter.Seq2[edgeguard.Block, blocklist.Trust] { return f.peer.Records() }

// Stop ends the link, which pushes the last counts.
func (f *FleetService) Stop() { f.links.Stop() }

// Report adds how the link works.
func (f *FleetService) Report(out *admin.Stats) { f.links.Report(out) }

// announce logs which fleet a link joins, unless it does already.
func (f *FleetService) announce(rc *redis.Config, key string) {
	if running := f.links.All(); len(running) == 0 || running[0].key != key {
		f.peer.Log.Info("joining the fleet", "redis", strings.Join(rc.Addresses, ", "), "namespace", rc.Namespace, "node", rc.Node, "boot", rc.Boot, "boot_kept", f.peer.boot.kept, "key", keyOf(rc))
	}
}

// keyOf says whether what a node says in its fleet can be distinguished from what others write
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

// errCutOff is of what takes the fleet's Redis.
var errCutOff = errors.New("this node is cut off from its fleet: /readyz names the fault")

// link is the node's way to its fleet; nil for a node alone.
func (f *FleetService) link() *redis.Link {
	if links := f.links.All(); len(links) > 0 {
		return links[0].Link
	}
	return nil
}

// Lead makes a step of a lease of the fleet, or reports that this node has none. A spare
// node takes a lease that nobody else wants.
func (f *FleetService) Lead(ctx context.Context, l *redis.Lease, spare bool) (alone bool, err error) {
	link := f.link()
	switch {
	case link != nil && link.IsJoined():
		return false, link.StepLease(ctx, l, spare)
	case link == nil && f.peer.Pipeline.Current().Config.Fleet == nil:
		return true, nil
	}
	return false, errCutOff
}

// Leave gives up a lease that this node holds.
func (f *FleetService) Leave(ctx context.Context, l *redis.Lease) error {
	if link := f.link(); link != nil && link.IsJoined() {
		return link.Leave(ctx, l)
	}
	return nil
}

// Publish passes a change of the list to the other nodes.
func (f *FleetService) Publish(b edgeguard.Block) {
	if link := f.link(); link != nil && f.peer.travels(&b) {
		link.Changed(b, f.peer.List.Trust(b.Prefix))
	}
}

// Ask has what this node counts of a held block pushed soon.
func (f *FleetService) Ask(b edgeguard.Block) {
	if link := f.link(); link != nil {
		link.PushCountsOf(b)
	}
}

// Follow has the rules go by whether the fleet is there, and the counts by the
// clock's offset: once a second.
func (f *FleetService) Follow(now time.Time) {
	g, link := f.peer.Pipeline.Current(), f.link()
	if g.Config.Fleet == nil {
		if f.differ {
			f.differ = false
			f.peer.Alarms.Ends(alarm.OtherRules, "")
		}
		return
	}
	if link != nil && link.Stats().Syncs > 0 {
		f.peer.Quarantine.Joined()
	}
	g.Detector.SetFleetLost(link == nil || !link.IsJoined())
	g.Member.Totals.SetOffset(f.peer.Clock.Offset(), now)
	for _, b := range g.Detector.Travels(now) {
		f.Publish(b)
	}
	f.compare(now)
}

// Resync has what the previous config refused compared with the fleet again.
func (f *FleetService) Resync() {
	if link := f.link(); link != nil {
		link.Resync()
	}
}

// Sign has the link publish the signatures of all records by the key that signs now.
func (f *FleetService) Sign() {
	if link := f.link(); link != nil {
		link.SignAll()
	}
}

// Nodes returns the fleet's nodes as this one last received them.
func (f *FleetService) Nodes() []admin.FleetNode {
	nodes := f.peer.heartbeats.nodes(f.peer.Now())
	for _, d := range f.rules.Differ() {
		for i := range nodes {
			if nodes[i].Name == d.Node {
				nodes[i].Differ = d.Rules
			}
		}
	}
	return nodes
}

// Alike reports whether the node of this name counts by the rule what this one does.
func (f *FleetService) Alike(rule, node string) bool {
	digest := f.peer.heartbeats.rulesOf(node)
	return digest != "" && (digest == f.peer.RulesDigest() || f.rules.Alike(rule, digest))
}

// mostDiffering is how many nodes, and rules of each, an alarm names.
const mostDiffering = 3

// compare raises the alarm about nodes whose rules are others than this node's, or ends it.
func (f *FleetService) compare(now time.Time) {
	var parts []string
	for _, d := range f.rules.Differ() {
		if d.Wrong {
			parts = append(parts, "node "+d.Node+" ("+strings.Join(d.Rules[:min(len(d.Rules), mostDiffering)], "; ")+")")
		}
	}
	if len(parts) > 0 {
		f.differ = true
		f.peer.Alarms.Begins(now, alarm.OtherRules, "", fmt.Sprintf("the rules of %d other nodes of the fleet have the same names and are not the same, so counts do not add up and blocks differ: %s: give all one config, or names of their own",
			len(parts), strings.Join(parts[:min(len(parts), mostDiffering)], ", ")))
	} else if f.differ {
		f.differ = false
		f.peer.Alarms.Recovers(alarm.OtherRules, "")
	}
}

// Said returns what the nodes say of their work, and has the others say it, also of spans.
func (f *FleetService) Said(spans ...aggregator.Span) []fleet.Said {
	return f.figures.KnownFigures(f.peer.Now(), f.peer.Pipeline.Current().Config.Node, f.peer.boot.String(), spans...)
}

// Shares returns what each node of the fleet counts of keys; nil where Redis
// cannot be asked, which the link reports itself.
func (f *FleetService) Shares(ctx context.Context, keys []aggregator.Key, settle bool) [][]admin.NodeCount {
	link := f.link()
	if link == nil || !link.IsJoined() {
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

// Held asks the other nodes which records they hold.
func (f *FleetService) Held(ctx context.Context) (admin.FleetHeld, error) {
	return f.asker.Ask(ctx, f.peer.Pipeline.Current().Config.Node)
}

func (f *FleetService) look(ctx context.Context) (fleet.Look, error) {
	link := f.link()
	if link == nil || !link.IsJoined() {
		return fleet.Look{}, errCutOff
	}
	return link.ReadHeartbeats(ctx)
}

// travels reports whether a record is sent to the other nodes now.
func (p *peer) travels(b *edgeguard.Block) bool {
	return aggregator.Travels(b.Prefix) && !p.Pipeline.Current().Detector.Waits(b)
}

// service is the link as a service.
type service struct {
	*redis.Link
	key  string
	peer *peer
}

func (l *service) Key() string             { return l.key }
func (l *service) Alarm() (string, string) { return alarm.Fleet, "" }

// Report adds how the link works.
func (l *service) Report(out *admin.Stats) {
	f, s := out.Fleet, l.Stats()
	if f == nil { // a reload has just ended the fleet
		return
	}
	f.Monitors, f.OtherRules = l.peer.heartbeats.apart(l.peer.RulesDigest(), l.peer.Version)
	f.Alive, f.Joins, f.Syncs = s.Nodes, s.Reconnects, s.Syncs
	f.PushLag, f.Rounds, f.Calls, f.Pushed, f.Delayed = s.PushLag.Seconds(), s.Rounds, s.Calls, s.Keys, s.Delayed
	f.Published, f.Received, f.Rejected = s.Published, s.Received, s.Rejected
	f.Staying = l.peer.Pipeline.Current().Detector.Staying()
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
func (l *service) Run(ctx context.Context, _ func()) error {
	l.Link.Run(ctx) // it has its own alarms
	return nil
}
