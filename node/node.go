package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/metrics"
	"edgeguard/aggregator/quarantine"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/fleetlink"
	"edgeguard/node/lists"
	"edgeguard/node/neighbours"
	"edgeguard/node/pipeline"
	"edgeguard/node/sockets"
)

// Locks are taken in this order; "→" is "held while taking":
//
//	lifecycle.changing → supervisor.Group.mu → (a service ends) → store.cut (R), pipeline.reload (R)
//	lifecycle.changing → pipeline.scans → pipeline.reload, for one pointer store
//	lifecycle.changing → store.saving → store.cut → shards, blocklist
//	store.cut (R) → pipeline.reload (R) → a shard → blocklist
//	store.cut (R) → checks.UncountedRequests.mu → blocklist (reading)
//
// The blocklist calls Node.changed without its lock, but often with
// pipeline.reload held for reading. What is called there must therefore neither
// decide nor reload, and wait for nothing. It takes the quarantine's lock, which
// is never held while the list is changed, only while it is read. Its lock of admissions
// is: nothing that Node.changed calls admits.
//
// These are leaves: supervisor.Group.figures, alarm.Tracker.mu (its listener is
// called after the unlock), positions.mu, fleetlink.heartbeats.mu, and those of the
// sockets, the lists' record, the runners and the link. The journal is a channel.
//
// A reload through the admin API that changes its own listener waits for its own
// answer, until that is cut off at the end of the drain time.

// mostFirstLists is how long a node waits for its lists before it says that it is ready: nginx
// does not start without a file that it includes.
const mostFirstLists = 2 * time.Second

// Node is one running edgeguard. Make one with New; its methods are safe for
// concurrent use.
type Node struct {
	common
	options    Options
	pipeline   *pipeline.Pipeline
	list       *blocklist.List
	imports    *neighbours.ImportedLists // beside the list, of this node only
	quarantine *quarantine.Quarantine    // before the list, for the fleet's blocks
	elsewhere  *checks.Others            // what is in force that this node did not make
	journal    *journal
	kept       *eventKeeper
	store      *store
	protected  *protected
	uncounted  *checks.UncountedRequests
	latency    *metrics.Latency // of decisions
	logs       *logGroup
	enforcers  *lists.Lists
	bouncers   *neighbours.BouncerService // of CrowdSec, which enforce the blocks
	crowdSec   *neighbours.CrowdSecClient
	blocklists *neighbours.Subscriptions
	notify     *neighbours.Notifiers
	fleet      *fleetlink.FleetService
	admin      *adminAPI
	sensors    parts // hand in events
	parts      parts // with the sensors
	lifecycle  lifecycle
	// lastEnded is a block that was lifted, until its tombstone comes: the list calls one
	// at a time.
	lastEnded *blocklist.Ended
}

// common is what every part of a node uses.
type common struct {
	clock   *clockguard.Clock
	alarms  *alarm.Tracker
	sockets *sockets.Sockets
}

// New returns a node. Nothing is opened or started before Run. The error is that
// of Check.
func New(c *config.Config, o Options) (*Node, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := Check(c); err != nil {
		return nil, err
	}
	seed, err := newSeed()
	if err != nil {
		return nil, err
	}
	boot, err := newSeed()
	if err != nil {
		return nil, err
	}
	n := &Node{options: o}
	n.wire(c, seed, boot)
	return n, nil
}

// newSeed returns a random seed for the hash: a client that cannot guess it
// cannot choose keys that collide.
func newSeed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("random seed: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// align returns a common multiple of the slots of the config's meters, so that a
// step of the clock keeps all of them aligned to the epoch. If there is none
// below an hour, it returns an hour.
func align(c *config.Config) time.Duration {
	const most = 3600
	multiple := uint32(clockguard.DefaultAlign / time.Second)
	for i := range c.Rules.Meters {
		width := c.Rules.Meters[i].Width
		next := multiple
		for next%width != 0 {
			next += multiple
		}
		if next > most {
			return most * time.Second
		}
		multiple = next
	}
	return time.Duration(multiple) * time.Second
}

// Run runs the node until ctx is done, and then drains: it answers what is
// under way, saves its state and ends. The error says why a node could not
// start; one that ran returns nil.
func (n *Node) Run(ctx context.Context) error {
	// Before a file of the state is read or a socket opened, and until all have ended.
	if err := n.store.claim(ctx, n.store.patience); err != nil {
		return err
	}
	defer n.store.release()
	n.sockets.TakeOver(os.Getenv)
	defer n.sockets.Close()
	defer n.pipeline.Close()
	c := n.lifecycle.overlay.On(n.pipeline.Current().Config)
	n.pipeline.Replace(n.clock.Now(), c)
	if err := bind(n.sockets, c); err != nil {
		return err
	}
	n.protected.look()
	n.parts.load()
	n.list.OnChange(n.changed)
	n.list.OnEvict(n.evicted)
	n.list.OnEnd(n.ended)
	n.kept.open()
	defer n.kept.close()                                       // after all that adds to it
	n.admin.state(admin.StateStarting, "the node was started") // no alarm of the last run lasts
	recall := n.admin.events.Recall(n.admin.status.Now())
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	defer beside.Wait()
	defer end()
	for _, run := range []func(context.Context){n.journal.run, n.kept.run, recall, (&housekeeping{clock: n.clock, alarms: n.alarms, systemd: n.lifecycle.systemd, parts: n.parts}).run, n.protected.run} {
		beside.Go(func() { run(base) })
	}
	first := !n.store.positions.known() // asked now: soon after it has begun, a log has one that is not saved
	n.lifecycle.changing.Lock()
	n.lifecycle.base = base
	n.settle(c)
	n.lifecycle.changing.Unlock()
	if first {
		n.store.saveFirstPositions(ctx)
	}
	listed, cancel := context.WithTimeout(ctx, mostFirstLists)
	n.enforcers.AwaitFirst(listed)
	cancel()
	beside.Go(func() { n.store.run(base) })
	n.lifecycle.ready.Store(true)
	n.admin.state("ready", n.line())
	if n.options.Ready != nil {
		n.options.Ready()
	}
	n.lifecycle.systemd.ready(n.line())
	n.options.Log.Info("ready", "node", c.Node, "mode", modeName(c), "rules", len(c.Rules.Rules))
	<-ctx.Done()
	n.drain()
	return nil
}

// settle makes the services that run those of the config. It needs changing.
func (n *Node) settle(c *config.Config) {
	c, n.logs.connections = withinFiles(n.clock.Now(), c, n.alarms)
	n.parts.settle(n.lifecycle.base, c)
	n.sockets.Keep(addresses(c))
}

// drain ends the parts in the order in which events pass them.
func (n *Node) drain() {
	n.lifecycle.ready.Store(false)
	n.lifecycle.systemd.stopping()
	n.options.Log.Info("ending")
	n.admin.state("stopping", "the node drains and ends")
	n.lifecycle.changing.Lock()
	defer n.lifecycle.changing.Unlock()
	n.parts.stop()
	n.lifecycle.base = nil
}

// line returns the status that systemctl shows.
func (n *Node) line() string {
	c := n.pipeline.Current().Config
	return fmt.Sprintf("%s: %s, %s", modeName(c), words.Plural(len(c.Rules.Rules), "rule", "rules"), words.Plural(n.list.Len(), "block", "blocks"))
}
