package node

import (
	"context"
	"time"

	"edgeguard/clockguard"
	"edgeguard/eventlog"
	"edgeguard/node/alarm"
)

const (
	// eventsFolder is where what happened is kept in the folder of the state.
	eventsFolder = "events"
	// flushEvery is what a killed node loses of it at most.
	flushEvery = time.Second
)

// eventKeeper has what happened written to disk.
type eventKeeper struct {
	log     *eventlog.Log
	clock   *clockguard.Clock
	alarms  *alarm.Tracker
	leftOut func(uint64) // says how many entries found no room
}

// open reads what the last run kept.
func (k *eventKeeper) open() {
	if err := k.log.Open(); err != nil {
		k.alarms.Happened(k.clock.Now(), alarm.State, eventsFolder, "what happened before: "+err.Error())
	}
}

// run writes what happened once a second, until ctx is done.
func (k *eventKeeper) run(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for full := k.log.Full(); ; {
		select {
		case <-tick.C:
		case <-full:
		case <-ctx.Done():
			return
		}
		if full = k.log.Full(); !k.flush() {
			full = nil // the disk refuses: it is asked once a second
		}
	}
}

// flush reports whether the disk took all.
func (k *eventKeeper) flush() bool {
	now := k.clock.Now()
	err := k.log.Flush(k.now())
	if err != nil {
		k.alarms.Begins(now, alarm.State, eventsFolder, "what happens is not written to the disk, and the newest of it waits in memory: "+err.Error())
	} else {
		k.alarms.Recovers(alarm.State, eventsFolder)
		if n := k.log.Lost(); n > 0 { // said now, since it has room: else that were lost, too, each second
			k.leftOut(n)
		}
	}
	return err == nil
}

// now is the wall clock's time, which entries have.
func (k *eventKeeper) now() time.Time { return k.clock.Epoch(k.clock.Now()) }

// close writes what is left, when nothing adds to it any more.
func (k *eventKeeper) close() {
	if err := k.log.Close(k.now()); err != nil {
		k.alarms.Happened(k.clock.Now(), alarm.State, eventsFolder, err.Error())
	}
}
