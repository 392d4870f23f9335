package node

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

const (
	// journalLength is how many entries wait for a slow log. When it is full
	// entries are dropped and counted: a decision never waits for a log. Lesser ones
	// may take half of them, so that no flood of these leaves out a block.
	journalLength = 16384
	// linesPerSecond bounds the log during a storm of blocks; what is left
	// out is counted in one line.
	linesPerSecond = 50
)

// journal logs what decisions and sensors report, on its own goroutine. Its
// methods are safe for concurrent use.
type journal struct {
	log     *slog.Logger
	entries chan entry
	dropped atomic.Uint64
	lost    atomic.Uint64 // were published, and not kept
	// epoch returns the wall-clock time of a local one.
	epoch func(time.Time) time.Time
	// publish is called with every entry after it was logged or left out.
	publish func(entry)

	second int64 // the second that lines are counted in
	lines  int
	left   int // lines left out of that second
	// lesser entries of that second, and entries of it that are not published
	lesser   int
	unkept   uint64
	reported uint64 // of dropped
}

// entry is one thing to log: exactly one of its pointers is set, but for a block that was
// lifted, which has its end too.
type entry struct {
	block    *edgeguard.Block
	expired  bool // the block is an allowance that has ended
	imported bool // the block is one of many that an operator's one change makes
	ended    *blocklist.Ended
	crossing *edgeguard.Crossing
	alarm    *edgeguard.Alarm
	unkept   uint64 // entries that were not published
}

func newJournal(log *slog.Logger, epoch func(time.Time) time.Time) *journal {
	return &journal{log: log, entries: make(chan entry, journalLength), epoch: epoch, publish: func(entry) {}}
}

// lesser reports whether an entry is one of the first to be left out: a crossing, or that a
// block which refused nothing ended when it was to, as all of an import do at once.
func (e *entry) lesser() bool {
	return e.crossing != nil || e.block == nil && e.ended != nil && e.ended.Why == blocklist.EndedInTime && e.ended.Refused == 0
}

// add takes an entry. It never waits.
func (j *journal) add(e entry) {
	if e.lesser() && len(j.entries) >= journalLength/2 {
		j.dropped.Add(1)
		return
	}
	select {
	case j.entries <- e:
	default:
		j.dropped.Add(1)
	}
}

// room waits until less than half of the entries wait, for a caller that may: an operator who
// changes many blocks. It gives up after a second.
func (j *journal) room() {
	for tries := 0; len(j.entries) >= journalLength/2 && tries < 1000; tries++ {
		time.Sleep(time.Millisecond)
	}
}

// leave counts entries that were published and not kept.
func (j *journal) leave(n uint64) { j.lost.Add(n) }

// run logs entries until ctx is done, and then those that still wait.
func (j *journal) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case e := <-j.entries:
			j.write(e, time.Now().Unix())
		case <-tick.C:
			j.turn(time.Now().Unix())
		case <-ctx.Done():
			j.rest()
			return
		}
	}
}

// rest logs what still waits when the node ends.
func (j *journal) rest() {
	for {
		select {
		case e := <-j.entries:
			j.write(e, time.Now().Unix())
		default:
			j.turn(0)
			return
		}
	}
}

// write logs an entry, unless the second has had its lines. An alarm is always
// logged.
func (j *journal) write(e entry, second int64) {
	j.turn(second)
	if e.block != nil || e.ended == nil { // else its block had a line, with the end
		if j.lines++; j.lines <= linesPerSecond || e.alarm != nil {
			j.line(e)
		} else {
			j.left++
		}
	}
	if e.lesser() {
		if j.lesser++; j.lesser > linesPerSecond {
			j.unkept++
			return // of those that are held back, all visitors may be
		}
	}
	j.publish(e)
}

// turn ends a second: it logs how many entries were left out.
func (j *journal) turn(second int64) {
	if second == j.second {
		return
	}
	if j.left > 0 {
		j.log.Info("more changes in this second, not shown", "count", j.left)
	}
	if d := j.dropped.Load(); d != j.reported {
		j.log.Warn("the log was too slow: changes were not logged", "count", d-j.reported)
		j.unkept += d - j.reported
		j.reported = d
	}
	if j.unkept += j.lost.Swap(0); j.unkept > 0 {
		j.publish(entry{unkept: j.unkept})
	}
	j.second, j.lines, j.left, j.lesser, j.unkept = second, 0, 0, 0, 0
}

func (j *journal) line(e entry) {
	switch {
	case e.alarm != nil && e.alarm.Over: // its recovery had a line
	case e.alarm != nil:
		j.log.Warn(e.alarm.Text, "alarm", e.alarm.Kind)
	case e.block != nil && e.block.Allow:
		j.allowance(e.block, e.expired)
	case e.block != nil && e.block.Lifted:
		j.log.Info("unblocked", "prefix", prefixText(e.block.Prefix), "reason", e.block.Reason, "origin", e.block.Origin)
	case e.block != nil:
		b := e.block
		j.log.Info("blocked", "prefix", prefixText(b.Prefix), "rule", b.Rule, "reason", b.Reason,
			"count", b.Count, "limit", b.Limit, "until", j.epoch(b.Until).UTC().Format(time.RFC3339), "origin", b.Origin)
	case e.crossing != nil:
		c := e.crossing
		line := j.log.With("key", c.Key.String(), "rule", c.Rule, "action", c.Action.String(), "count", c.Count, "limit", c.Limit)
		if c.Stands != "" {
			line = line.With("stands", c.Stands, "until", j.epoch(c.Until).UTC().Format(time.RFC3339))
		}
		if c.Excused {
			line.Info("would be over limit: the site fails, and its failures are not counted")
			return
		}
		if c.Again {
			line.Info("still over limit")
			return
		}
		line.Info("over limit")
	}
}

// allowance logs an allowance.
func (j *journal) allowance(b *edgeguard.Block, over bool) {
	prefix := prefixText(b.Prefix)
	switch {
	case over:
		j.log.Info("allowance over", "prefix", prefix)
	case b.Lifted:
		j.log.Info("allowance taken back", "prefix", prefix, "reason", b.Reason, "origin", b.Origin)
	default:
		j.log.Info("allowed", "prefix", prefix, "reason", b.Reason,
			"until", j.epoch(b.Until).UTC().Format(time.RFC3339), "origin", b.Origin)
	}
}

// prefixText writes a single address bare.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
