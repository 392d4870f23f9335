package node

import (
	"context"
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/detector"
)

const (
	houseEvery = time.Second
	// sweepSteps bounds the blocks that one second removes, 256 a step: a
	// million that end together are gone in a quarter of a minute, and are no
	// longer enforced from the first.
	sweepSteps = 256
	// crowdEvery is how often it is looked who sends the requests, and
	// leastCrowd how many there must be for a share to say something.
	crowdEvery = 10 * time.Second
	leastCrowd = 100
)

// keepHouse does once a second what must not be left to the next request: it
// follows the clock, removes what is over, and looks for what an operator
// should know. That it goes on is what systemd's watchdog is told.
func (n *Node) keepHouse(ctx context.Context) {
	tick := time.NewTicker(houseEvery)
	defer tick.Stop()
	var alive, crowd time.Time
	var before detector.Stats
	var full fullness
	for {
		now := n.clock.Now()
		if n.systemd.watchdog > 0 && now.Sub(alive) >= n.systemd.watchdog {
			n.systemd.alive()
			alive = now
		}
		if now.Sub(crowd) >= crowdEvery {
			n.lookForDominant(now)
			before = n.lookForHidden(now, before)
			crowd = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		n.observeClock()
		now = n.clock.Now()
		n.sweep(now)
		n.followFleet(now)
		n.lookForHeld(now)
		full = n.lookForRoom(now, full)
		n.lookAfterOutlets(now)
		n.recorded(n.lists.retry())
		n.lookForLoss(now)
		n.lookForUncounted(now)
		n.lookForSilent(now, n.handedIn())
		n.lookForCrowds(now)
	}
}

// handedIn returns how many events each source handed in.
func (n *Node) handedIn() []admin.Source {
	var s admin.Stats
	n.auths.report(&s)
	n.logs.report(&s)
	return s.Sources
}

// observeClock takes in what the wall clock did.
func (n *Node) observeClock() {
	step, stepped := n.clock.Observe(clockguard.Read())
	if !stepped {
		return
	}
	n.alarms.happened(step.At, alarmClock, step.By.String(), fmt.Sprintf(
		"the wall clock stepped by %v: counts and blocks go on undisturbed; look after the host's time synchronization", step.By.Round(time.Millisecond)))
}

// sweep removes blocks that are over and a sixtieth of a minute's keys.
func (n *Node) sweep(now time.Time) {
	for range sweepSteps {
		if n.list.Sweep(now) < blocklist.SweepStep {
			break
		}
	}
	n.pipeline.Current().Detector.Sweep(now, n.memory.Stats().KeyPages/60+16)
}

// lookForDominant raises the alarm about an address with more than half of all
// requests: a proxy that hides its clients, or an attack.
func (n *Node) lookForDominant(now time.Time) {
	addr, share, ok := n.pipeline.Current().Detector.Dominant(now)
	if !ok {
		n.alarms.ends(alarmDominant, "")
		return
	}
	n.alarms.begins(now, alarmDominant, "", fmt.Sprintf(
		"%v sends %.0f %% of all requests: if it is your proxy or load balancer, it hides its clients: name it in trusted_proxies, and have it send their addresses", addr, 100*share))
}

// lookForHidden raises the alarm about clients that nobody can see: where most
// requests seem to come from this host or from a trusted proxy, that proxy
// does not say whom they are from, and none of them is counted. It gives the
// figures for the next look.
func (n *Node) lookForHidden(now time.Time, before detector.Stats) detector.Stats {
	s := n.pipeline.Current().Detector.Stats()
	events, spared := s.Events-before.Events, s.Spared-before.Spared
	switch {
	case events < leastCrowd:
	case 2*spared > events:
		n.alarms.begins(now, alarmHidden, "", fmt.Sprintf(
			"%d of the last %d requests came from allowed or protected addresses and were not counted: if they are your clients', have the proxy before edgeguard send their addresses", spared, events))
	default:
		n.alarms.ends(alarmHidden, "")
	}
	return s
}

// lookAfterOutlets raises the alarm about enforcers that fail: what they
// installed last stays, and they are tried again.
func (n *Node) lookAfterOutlets(now time.Time) {
	for _, o := range n.outlets.all() {
		s := o.runner.Stats()
		switch {
		case s.Failing > 0 && s.LastError != nil:
			n.alarms.begins(now, alarmEnforcer, o.name, "blocks are not handed on, and what was installed last stays: "+s.LastError.Error())
		case s.Failing == 0 && n.alarms.ends(alarmEnforcer, o.name):
			n.log.Info("works again", "alarm", alarmEnforcer, "about", o.name)
		}
	}
}

// lookForLoss raises the alarm about log lines that were written and could not
// be read.
func (n *Node) lookForLoss(now time.Time) {
	for _, l := range n.logs.all() {
		seen := l.figures()
		if text := lossBetween(&l.seen, &seen); text != "" {
			n.alarms.happened(now, alarmLoss, l.name, l.name+": "+text)
			n.uncounted.of(l.source())[edgeguard.LinesLost].Add(lostBetween(&l.seen, &seen))
		}
		l.seen = seen
	}
}

// lostBetween gives how many lines were lost between two looks at a log, at
// least: bytes that were thrown away are a line.
func lostBetween(before, after *admin.Log) uint64 {
	lost := after.Lost - min(after.Lost, before.Lost)
	if after.LostBytes > before.LostBytes {
		lost++
	}
	return lost
}

// lossBetween says what was lost between two looks at a log, and what to do
// about it; empty where nothing was. A file that was emptied in place is told
// of even if nothing is known to be lost: nobody could know.
func lossBetween(before, after *admin.Log) string {
	const rename = "rotate it by renaming (logrotate: create, not copytruncate)"
	switch {
	case after.Lost > before.Lost:
		return fmt.Sprintf("lines were lost, %d times or more: raise net.unix.max_dgram_qlen to 4096, or follow a file", after.Lost-before.Lost)
	case after.LostBytes > before.LostBytes:
		return fmt.Sprintf("%d bytes were thrown away before they were read: %s", after.LostBytes-before.LostBytes, rename)
	case after.Gaps > before.Gaps:
		return "a file was gone, or could not be opened, before it was read to its end: its other lines are lost; keep the newest rotated files, readable and uncompressed (logrotate: delaycompress)"
	case after.Truncations > before.Truncations:
		return "it was emptied in place: lines that were written between copy and emptying are lost unseen; " + rename
	}
	return ""
}
