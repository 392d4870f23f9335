package neighbours

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
	"edgeguard/notify"
)

// Services by which a node tells people of its blocks, of its alarms and of what awaits
// confirmation: webhooks and Alertmanagers.

const (
	// lookEvery is how often a receiver looks for what it has to send.
	lookEvery = time.Second
	// fresh is how old a block may be that is news: one that a restart or the fleet's list
	// brings back was told when it was made, and so was one whose end only moves.
	fresh, freshOfOthers = 2 * time.Second, time.Minute
)

// NotifyDeps is what the services use of a node.
type NotifyDeps struct {
	Clock *clockguard.Clock
	Log   *slog.Logger
	Run   string // a text that no other run of the node has
	// Version is the node's, for the receivers.
	Version string
	// Settled reports whether the node neither starts nor ends.
	Settled func() bool
	// Unit returns what the figures of a node's rule are of.
	Unit func(rule, origin string) words.Measure
}

// Notifiers is the receivers of a node. Its methods are safe for concurrent use.
type Notifiers struct {
	supervisor.Group[*NotifyReceiver]
	NotifyDeps
	// told are the receivers that are told of blocks; nil for none.
	told atomic.Pointer[audience]
}

// audience is who is told of blocks, on which node.
type audience struct {
	node      string
	receivers []*NotifyReceiver
}

// Settle makes the receivers that run those of a config. Those that stay read their files
// again.
func (g *Notifiers) Settle(ctx context.Context, c *config.Config) {
	before := make(map[*NotifyReceiver]bool)
	for _, r := range g.All() {
		before[r] = true
	}
	g.Group.Settle(ctx, g.receivers(c))
	now := audience{node: c.Node}
	for _, r := range g.All() {
		r.monitor.Store(c.Monitor)
		if r.wants.Sends(config.NotifyBlocks) {
			now.receivers = append(now.receivers, r)
		}
		if before[r] {
			r.readAgain()
		}
	}
	if len(now.receivers) == 0 {
		g.told.Store(nil)
		return
	}
	g.told.Store(&now)
}

// Stop ends all receivers. Each tries once more to send what waits.
func (g *Notifiers) Stop() {
	g.told.Store(nil)
	g.Group.Stop()
}

func (g *Notifiers) receivers(c *config.Config) (want []*NotifyReceiver) {
	names := notify.Names{Node: c.Node, Run: g.Run, Epoch: g.Clock.Epoch, Unit: g.Unit}
	for _, w := range c.Notify.Webhooks {
		want = append(want, g.receiver(w.Receiver, "webhook", fmt.Sprintf("webhook %s %+v", c.Node, w), newWebhook(&w, names)))
	}
	for _, a := range c.Notify.Alertmanager {
		want = append(want, g.receiver(a.Receiver, "alertmanager", fmt.Sprintf("alertmanager %s %+v", c.Node, a), newAlertmanager(&a, names)))
	}
	return want
}

func (g *Notifiers) receiver(wants config.Receiver, kind, key string, does does) *NotifyReceiver {
	return &NotifyReceiver{NotifyDeps: g.NotifyDeps, alarms: g.Alarms, wants: wants, kind: kind, key: key, does: does}
}

// Changed is called with every change of the blocklist, by who decides. It waits for no
// receiver: it takes a lock for each that is told of blocks, which none holds for longer
// than it takes to count a block or to copy the counts.
func (g *Notifiers) Changed(now time.Time, b *edgeguard.Block) {
	to := g.told.Load()
	if to == nil || b.Lifted || b.Allow {
		return
	}
	own := b.Origin == "" || b.Origin == to.node
	age := now.Sub(b.Since)
	if own && age > fresh || age > freshOfOthers || !b.Until.After(now) {
		return
	}
	to.tell(own, func(d does) { d.block(now, b) })
}

// Attacked is called with an attack that has begun: its ID and the first of its blocks. One node of
// the fleet tells of it by default, the one that made the block.
func (g *Notifiers) Attacked(now time.Time, b *edgeguard.Block, attack string) {
	if to := g.told.Load(); to != nil {
		to.tell(b.Origin == "" || b.Origin == to.node, func(d does) { d.attack(now, b, attack) })
	}
}

// Waits reports whether a receiver is told of attacks.
func (g *Notifiers) Waits() bool { return g.told.Load() != nil }

// tell calls a function with the receivers that are told of what this node did, or another one.
func (a *audience) tell(own bool, tell func(does)) {
	for _, r := range a.receivers {
		if own || r.wants.Fleet {
			tell(r.does)
		}
	}
}

// NotifyReceiver is one receiver: a supervisor.service.
type NotifyReceiver struct {
	NotifyDeps
	alarms    *alarm.Tracker
	wants     config.Receiver
	kind, key string
	does      does
	monitor   atomic.Bool
	events    notify.Events

	figures counts
	failing failing
}

// does is what webhooks and Alertmanagers do differently.
type does interface {
	// read reads the files.
	read(version string) error
	// block counts a block. It waits for nothing.
	block(now time.Time, b *edgeguard.Block)
	// attack counts an attack that the block began. It waits for nothing.
	attack(now time.Time, b *edgeguard.Block, id string)
	// next prepares what is to be sent; false for nothing. It returns the same until
	// arrived or drop is called.
	next(now time.Time, active []notify.Condition, known, monitor bool) bool
	// last prepares what has to be sent before the receiver leaves.
	last(now time.Time, monitor bool) bool
	// post sends what is prepared.
	post(ctx context.Context, now time.Time) answer
	arrived(now time.Time)
	// drop gives up what is prepared, and returns how much that is. old says that it is
	// so because it is no news any more.
	drop() int
	// made is when it was prepared.
	made() time.Time
	waiting() int
}

// Key implements supervisor.service.
func (r *NotifyReceiver) Key() string { return r.key }

// Alarm implements supervisor.service.
func (r *NotifyReceiver) Alarm() (kind, about string) { return alarm.Notify, r.wants.Name }

// Report implements supervisor.service.
func (r *NotifyReceiver) Report(to *admin.Stats) {
	f := r.figures.load()
	f.Name, f.Kind, f.Waiting = r.wants.Name, r.kind, r.does.waiting()
	to.Notified = append(to.Notified, f)
}

// readAgain reads the files of a receiver that stays. If that fails, what was read before
// stays in use.
func (r *NotifyReceiver) readAgain() {
	if err := r.does.read(r.Version); err != nil {
		r.Log.Warn("the previous secrets, headers and template of the receiver stay in use", "receiver", r.wants.Name, "error", err)
	}
}

// active returns the alarms that the receiver wants. It is not told of the alarm about
// itself, which it could not receive.
func (r *NotifyReceiver) active(now time.Time) (all []notify.Condition) {
	var seen []notify.Seen
	for _, a := range r.alarms.Reported() {
		confirm := alarm.Awaits(a.Kind)
		if confirm && !r.wants.Sends(config.Confirmations) || !confirm && !r.wants.Sends(config.Alarms) {
			continue
		}
		if a.Kind == alarm.Notify && a.About == r.wants.Name {
			continue
		}
		c := notify.Condition{Kind: a.Kind, About: a.About, Text: a.Text, Since: a.Since, Event: a.Event, Confirm: confirm}
		if a.Event {
			seen = append(seen, notify.Seen{Condition: c, Last: a.Last})
		} else {
			all = append(all, c)
		}
	}
	return append(all, r.events.Active(now, seen)...)
}
