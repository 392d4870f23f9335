package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator/quarantine"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/hostaddr"
	"edgeguard/internal/hugepage"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/pipeline"
	"edgeguard/node/status"
	"edgeguard/shard"
)

// Node is one running edgeguard. Make one with New; its methods are safe for
// concurrent use.
type Node struct {
	options  Options
	log      *slog.Logger
	seed     uint64
	begun    time.Time
	clock    *clockguard.Clock
	memory   *shard.Memory
	list     *blocklist.List
	hold     *quarantine.Quarantine // before the list, for the fleet's blocks
	pipeline *pipeline.Pipeline
	spared   atomic.Pointer[hostaddr.Set] // whom to block by force only
	journal  *journal
	alarms   *alarms
	systemd  notifier
	sockets  *sockets

	events    *admin.Events
	latency   *admin.Latency
	uncounted uncounted

	auths   group[*auth]
	logs    group[*logSource]
	outlets group[*outlet]
	// emptying are the lists that the config no longer has.
	emptying group[*emptying]
	desks    group[*desk]
	fleets   group[*fleetLink]
	// boot tells this run of the node from earlier ones, in the fleet.
	boot  string
	peers atomic.Pointer[map[netip.Addr]string] // the other nodes' addresses
	redis atomic.Pointer[[]netip.Addr]          // what the names of the fleet's Redis resolved to
	heard heardNodes                            // what they say of themselves

	// cut is held for reading while lines of a log are decided and its
	// position moves on, and closed by a snapshot.
	cut       sync.RWMutex
	positions positions
	logPlaces int // connections of a stream of log lines; settle's
	// ready says that the node answers: it has begun and does not drain.
	ready atomic.Bool

	changing sync.Mutex // held by a reload, and at the start and the end
	base     context.Context
	reloads  reloads
	state    *state
	lists    *lists
	status   *status.Status
	operator *operator
}

// New makes a node. Nothing is opened or started before Run. The error is that
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
	n := &Node{
		options: o,
		boot:    fmt.Sprintf("%016x", boot),
		log:     o.Log,
		seed:    seed,
		clock:   clockguard.New(clockguard.Read(), clockguard.Config{Align: align(c)}),
		memory:  hugepage.Memory(c.Memory),
		systemd: newNotifier(os.Getenv),
		state:   newState(c.State),
		lists:   newLists(c.State),
	}
	n.begun = n.clock.Now()
	n.journal = newJournal(o.Log, n.clock.Epoch)
	n.events = admin.NewEvents(c.Node)
	n.latency = admin.NewLatency()
	n.journal.publish = n.publish
	n.alarms = newAlarms(func(a edgeguard.Alarm) { n.journal.hear(note{alarm: &a}) })
	n.list = blocklist.New(blocklist.Config{Allow: c.Allowlist, Retention: longestWindow(c.Rules), Most: c.MaxBlocks})
	n.hold = quarantine.New(n.list, n.askFleet)
	n.hold.SetLimit(confirmShare(c))
	n.hold.SetMost(c.MaxBlocks)
	n.pipeline = pipeline.New(pipeline.Config{
		Memory: n.memory, List: n.list, Seed: n.seed, Boot: n.begun, Offset: n.clock.Offset, Crossed: n.crossed,
	}, c)
	n.status = status.New(n.sources())
	n.operator = &operator{pipeline: n.pipeline, list: n.list, quarantine: n.hold, clock: n.clock, status: n.status, reload: n.Reload}
	s := &supervisor{alarms: n.alarms, log: n.log, now: n.clock.Now}
	n.auths.supervisor, n.logs.supervisor, n.outlets.supervisor, n.emptying.supervisor, n.desks.supervisor, n.fleets.supervisor = s, s, s, s, s, s
	return n, nil
}

// newSeed makes the hash the process's own: who cannot guess it cannot choose
// keys that collide.
func newSeed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("random seed: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// align is a common multiple of the slots of the config's meters, so that a
// step of the clock moves none of them off the epoch. Slots that have none
// below an hour are kept whole by the hour.
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

// changed hears of every change of the blocklist, on the goroutine that made
// it.
func (n *Node) changed(b edgeguard.Block) {
	n.hold.Changed(n.clock.Now(), b)
	if b.Allow {
		n.allowanceChanged(b)
		return
	}
	n.journal.hear(note{block: &b})
	n.state.touch()
	n.tellFleet(b)
	if n.pipeline.Current().Config.Monitor {
		return
	}
	for _, o := range n.outlets.all() {
		o.runner.Hear(b)
	}
}

// evicted hears of a block that made room for another: no list may keep it, and
// nobody else is told.
func (n *Node) evicted(b edgeguard.Block) {
	n.state.touch()
	b.Until = b.Since // which has come
	for _, o := range n.outlets.all() {
		o.runner.Hear(b)
	}
}

// Run runs the node until ctx is done, and then drains: it answers what is
// under way, saves its state and ends. The error says why a node could not
// start; one that ran gives nil.
func (n *Node) Run(ctx context.Context) error {
	n.sockets = newSockets(os.Getenv)
	n.sockets.warn = func(text string) { n.log.Warn(text) }
	defer n.sockets.close()
	defer n.close()
	c := n.pipeline.Current().Config
	if err := n.bind(c); err != nil {
		return err
	}
	n.look()
	n.restore()
	if err := n.lists.load(); err != nil {
		n.alarms.happened(n.clock.Now(), alarmState, "lists", err.Error())
	}
	n.list.OnChange(n.changed)
	n.list.OnEvict(n.evicted)
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	defer beside.Wait()
	defer end()
	for _, run := range []func(context.Context){n.journal.run, n.keepHouse, n.keepLooking} {
		beside.Go(func() { run(base) })
	}
	n.changing.Lock()
	n.base = base
	n.settle(c)
	n.changing.Unlock()
	n.saveFirstPlaces(ctx)
	beside.Go(func() { n.keepState(base) })
	n.ready.Store(true)
	n.events.State(n.status.Now(), "ready", n.line())
	if n.options.Ready != nil {
		n.options.Ready()
	}
	n.systemd.ready(n.line())
	n.log.Info("ready", "node", c.Node, "mode", modeName(c), "rules", len(c.Rules.Rules))
	<-ctx.Done()
	n.drain()
	return nil
}

// close gives back what New took.
func (n *Node) close() { n.pipeline.Close() }

// bind opens the sockets before anything runs, so that a node that could see
// nothing ends with the reason. What else fails is tried again by its part.
func (n *Node) bind(c *config.Config) error {
	var errs []error
	for address, access := range addresses(c) {
		l, err := n.sockets.open(address, access)
		if err == nil {
			_ = l.Close() // the socket stays open
		}
		isAuth := slices.ContainsFunc(c.Listen.Auth, func(a config.Auth) bool { return a.Address.String() == address })
		if isAuth && err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 && len(errs) == len(c.Listen.Auth) && len(c.Sensors.AccessLog) == 0 {
		return errors.Join(errs...)
	}
	return nil
}

// settle makes what runs what the config wants.
func (n *Node) settle(c *config.Config) {
	c = n.withinFiles(c)
	wanted := listsOf(c)
	left := n.leftLists(wanted) // on the record before a new list is written
	n.emptying.stop()
	n.outlets.settle(n.base, n.wantOutlets(wanted))
	n.emptying.settle(n.base, left)
	n.auths.settle(n.base, authDeps{n.pipeline, n.clock, n.latency, n.alarms, n.sockets, n.log, n.uncounter}.auths(c))
	n.logs.settle(n.base, logDeps{n.pipeline, n.clock, n.alarms, n.log, &n.positions, n.cut.RLocker(), n.state.touch, n.uncounter}.logs(c, n.logPlaces))
	n.desks.settle(n.base, n.wantDesks(c))
	n.fleets.settle(n.base, n.wantFleet(c))
	n.sockets.keep(addresses(c))
}

// addresses gives where the config wants to listen, and for whom.
func addresses(c *config.Config) map[string]unixsocket.Access {
	all := make(map[string]unixsocket.Access)
	for _, l := range c.Listen.Auth {
		all[l.Address.String()] = unixsocket.Access(l.Access)
	}
	for _, l := range c.Listen.Admin {
		all[l.Address.String()] = unixsocket.Access(l.Access)
	}
	return all
}

// drain ends the parts in the order in which events pass them.
func (n *Node) drain() {
	n.ready.Store(false)
	n.systemd.stopping()
	n.log.Info("ending")
	n.events.State(n.status.Now(), "stopping", "the node drains and ends")
	n.changing.Lock()
	defer n.changing.Unlock()
	n.auths.stop()
	n.logs.stop()
	n.fleets.stop() // it pushes the last counts
	n.save()
	n.emptying.stop()
	n.outlets.stop()
	n.desks.stop()
	n.base = nil
}

// line is what systemctl shows.
func (n *Node) line() string {
	c := n.pipeline.Current().Config
	return fmt.Sprintf("%s: %d rules, %d blocks", modeName(c), len(c.Rules.Rules), n.list.Len())
}

// modeName is the mode as the config writes it.
func modeName(c *config.Config) string {
	if c.Monitor {
		return "monitor"
	}
	return "enforce"
}
