package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/clockguard"
)

// heartbeatAlarms are the alarms that the last whole list of nodes raised.
type heartbeatAlarms struct {
	duplicate string            // the first name that two nodes share; "" if none
	clocks    map[string]string // the text of each wrong clock
	redis     bool              // most nodes disagree with Redis' clock
}

// heartbeatLoop sends a heartbeat every two seconds and compares the lists.
func (l *Link) heartbeatLoop(ctx context.Context) error {
	ticks := time.NewTicker(heartbeatEvery)
	defer ticks.Stop()
	for looked := (time.Time{}); ; {
		// All nodes together look at most ten times a second.
		if time.Since(looked) >= max(10*time.Second, time.Duration(l.stats.nodes.Load())*100*time.Millisecond) {
			l.checkEviction(ctx)
			looked = time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		s, err := l.heartbeat(ctx, true)
		if err != nil {
			return err
		}
		l.health.Lasts(time.Now(), int(l.stats.nodes.Load()))
		l.compareLists(ctx, s)
		l.exchangeMACs(ctx, &s)
		l.exchangeFigures(ctx)
		l.calmCrowded()
	}
}

// heartbeat calls the beat function, applies what it says of the nodes, and
// returns its answer. announce says that this node is alive; without it the call
// only reads.
func (l *Link) heartbeat(ctx context.Context, announce bool) (fleet.State, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	field, value, since, reported := "", "", l.nodes.Version(), ""
	if announce {
		mine := l.ownHeartbeat()
		judge := l.judge.Load()
		field, value, since = mine.Field(), judge.EncodeBeat(mine), l.nodes.Since(time.Now())
		reported = fmt.Sprint(mine.Own, mine.Monitor, mine.Looks, judge.Mode(), judge.Key())
	} else if since == 0 {
		since = -1 // the whole list is the heartbeat loop's
	}
	changed := "0"
	if announce && reported != l.reported {
		changed = "1"
	}
	sent := clockguard.Read().Mono
	s, err := l.callBeat(ctx, field, value, strconv.FormatInt(since, 10), changed)
	if err != nil {
		l.stats.failed("beat")
		return s, fmt.Errorf("heartbeat: %w", err)
	}
	if announce {
		l.measured(clockguard.Sample{Sent: sent, Received: clockguard.Read().Mono, Server: s.Now})
		l.reported = reported
		if err := l.checkBoot(&s); err != nil {
			return s, err
		}
		l.updateNodes(&s)
	} else if since >= 0 {
		l.nodes.Apply(time.Now(), &s, l.judge.Load().Beat)
	}
	return s, nil
}

// errBoot ends a session whose boot another process uses.
var errBoot = errors.New("another process uses this node's boot")

// checkBoot finds out whether another process counts under this node's boot, as
// after its machine or its state folder was copied: each would hide what the
// other counts. It then changes the boot, and ends the session.
func (l *Link) checkBoot(s *fleet.State) error {
	other := s.Other
	if l.spoke.IsZero() { // the heartbeat before this may be that of the process before
		other = !l.config.Stopped.IsZero() && s.Before > l.config.Stopped.Unix()+1
	}
	l.spoke = time.Now()
	switch {
	case other:
		l.shared = l.spoke
		l.node.Alarm("duplicate_boot", "redis", fmt.Sprintf("another process sends heartbeats as node %q with the same boot: a copied machine or state folder: give each its own `node:` and `state:`", l.config.Node))
		if boot := randomHex(8); l.node.Rebooted(boot) {
			l.config.Boot, l.config.Stopped = boot, time.Time{}
			return errBoot
		}
	case time.Since(l.shared) > time.Minute:
		l.node.Calm("duplicate_boot", "redis")
	}
	return nil
}

// callBeat calls the beat function.
func (l *Link) callBeat(ctx context.Context, field, value, since, changed string) (fleet.State, error) {
	answer, err := l.client.FCall(ctx, Function("beat"), l.pusher.names.memberKeys(),
		field, value, l.config.Partitions, since, changed, l.config.Run).Slice()
	if err != nil {
		return fleet.State{}, err
	}
	return fleet.ParseState(answer)
}

// farewell says that this node ends, so that the others need not wait until it
// has been silent for long.
func (l *Link) farewell(ctx context.Context) error {
	mine := aggregator.Heartbeat{Node: l.config.Node, Boot: l.config.Boot}
	_, err := l.callBeat(ctx, mine.Field(), "", "-1", "0")
	return err
}

// ownHeartbeat returns this node's heartbeat.
func (l *Link) ownHeartbeat() aggregator.Heartbeat {
	digest, changes := l.mirror.Digest(l.cutoff.Load())
	now := l.fleetNow()
	h := aggregator.Heartbeat{
		Node: l.config.Node, Boot: l.config.Boot, Version: l.config.Version, Monitor: l.config.Monitor,
		Started: now.Add(-time.Since(l.started)).Round(time.Millisecond).UTC(),
		At:      now.Round(time.Millisecond).UTC(), AheadMS: float64(l.ahead().Microseconds()) / 1000,
		PushLagMS: l.stats.pushLag().Milliseconds(),
		Changes:   changes, Digest: digest, Cutoff: l.cutoff.Load(), Own: l.node.Own(),
		Run: l.config.Run, Seq: l.seq.Add(1), Looks: l.config.Figures.Looks(l.node.Now()),
	}
	if !l.mirror.Merging() { // else what waits may be of an earlier version of the list
		h.Hold(l.node.Waits(aggregator.MostWaits))
	}
	return h
}

// updateNodes applies what Redis says of the fleet's nodes. Clocks and names
// are compared where all heartbeats are new: in a whole list.
func (l *Link) updateNodes(s *fleet.State) {
	l.nodes.Apply(time.Now(), s, l.judge.Load().Beat)
	alive := l.nodes.Alive()
	names := fleet.Names(alive, l.config.Node)
	l.stats.nodes.Store(int64(names))
	l.node.Counts().SetNodes(names, l.node.Now())
	l.node.Fleet(alive)
	if s.Whole {
		l.judgeClocks(alive)
		l.alarmDuplicates(fleet.Duplicates(alive))
	} else if l.ahead().Abs() > l.config.MaxSkew {
		l.nodes.Soon()
	}
	l.followClock()
}

// alarmDuplicates raises an alarm for each name that two nodes share, and ends
// the last one when there is none.
func (l *Link) alarmDuplicates(names []string) {
	for _, name := range names {
		l.node.Alarm("duplicate_name", name, fmt.Sprintf("two running nodes are named %q: their counts add up, but their blocks and figures cannot be told apart: give each its own `node:`", name))
	}
	switch last := l.alarms.duplicate; {
	case len(names) > 0:
		l.alarms.duplicate = names[0]
	case last != "":
		l.node.Calm("duplicate_name", last)
		l.alarms.duplicate = ""
	}
}

// exchangeFigures reports this node's figures, and reads those of the others, if
// somebody looks at the fleet. An error does not end the session.
func (l *Link) exchangeFigures(ctx context.Context) {
	err := l.figures.Step(ctx, Turn{
		Now: l.node.Now(), Fleet: l.fleetNow(), Node: l.config.Node, Boot: l.config.Boot, Alive: l.nodes.Alive(), Judge: l.judge.Load(),
	})
	if err != nil {
		l.stats.failed("figures")
	}
}

// checkEviction raises an alarm if Redis evicts keys, or may. It ignores errors:
// the user may lack the permission, and other calls notice a Redis that fails.
func (l *Link) checkEviction(ctx context.Context) {
	evicted, policy, ok := readEvictions(ctx, l.client, l.config.Timeout)
	if !ok {
		return
	}
	if text := l.evictions.Text(time.Now(), evicted, policy); text != "" {
		l.node.Alarm("eviction", "redis", text)
	} else {
		l.node.Calm("eviction", "redis")
	}
}
