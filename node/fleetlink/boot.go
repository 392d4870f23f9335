package fleetlink

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"edgeguard/clockguard"
	"edgeguard/snapshot"
)

// boot names this process's counts in the fleet. A process that continues after
// a clean end keeps the boot of the one before: its state has all that was
// pushed under it. It is safe for concurrent use.
type boot struct {
	id      atomic.Pointer[string]
	kept    bool      // it is that of the process before
	stopped time.Time // when the process before ended, by Redis' clock
	renewed atomic.Bool
}

func newBoot(id string) *boot {
	b := &boot{}
	b.id.Store(&id)
	return b
}

func (b *boot) String() string { return *b.id.Load() }

// renew gives the process another boot, since a second one uses the same. That
// is done once: whoever can write into Redis can pretend it.
func (b *boot) renew(id string) bool {
	if !b.renewed.CompareAndSwap(false, true) {
		return false
	}
	b.id.Store(&id)
	return true
}

// Resume decides whether the node keeps the boot of the process before, from
// which it has loaded a state; l is nil if there is none. The marker is removed
// in any case, before anything is pushed.
func (f *FleetService) Resume(l *snapshot.Loaded) {
	if f.peer.State == "" {
		return
	}
	now, c := f.peer.Clock.Now(), f.peer.Pipeline.Current().Config
	m, err := snapshot.ReadMarker(f.peer.State)
	member := f.peer.Pipeline.Current().Member
	if l == nil || member == nil {
		return
	}
	why := ""
	if err != nil {
		why = err.Error()
	} else {
		why = m.Refuses(c.Node, c.Fleet.Namespace, l, now, c.Rules.LongestWindow())
	}
	if why == "" {
		f.peer.boot.id.Store(&m.Boot)
		f.peer.boot.kept, f.peer.boot.stopped = true, m.Redis
		member.Totals.KeepBoot(now, m.Since)
		return
	}
	member.Restored(now)
	if !errors.Is(err, fs.ErrNotExist) {
		f.peer.Log.Info("the boot in the fleet is new", "because", why)
	}
}

// Mark writes that the node has ended cleanly: its state, whose checksum this
// is, has all that it pushed. Without a marker the next process draws a new boot.
func (f *FleetService) Mark(sum uint64) {
	member, c := f.peer.Pipeline.Current().Member, f.peer.Pipeline.Current().Config
	if member == nil || sum == 0 {
		return
	}
	wall := clockguard.Read()
	err := snapshot.WriteMarker(f.peer.State, snapshot.Marker{
		Boot: f.peer.boot.String(), Node: c.Node, Namespace: c.Fleet.Namespace, Ended: f.peer.Clock.Epoch(f.peer.Clock.Now()).Round(0),
		Redis: wall.Wall.Add(time.Duration(f.peer.redisAhead.Load())), Snapshot: sum, Since: member.Totals.Since(),
	})
	if err != nil {
		f.peer.Log.Warn("the boot in the fleet will be new after the restart", "error", err)
	}
}
