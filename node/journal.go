package node

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
)

const (
	// journalLength is how many notes wait for a slow log. When it is full
	// notes are dropped and counted: a decision never waits for a log.
	journalLength = 4096
	// linesPerSecond bounds the log during a storm of blocks; what is left
	// out is counted in one line.
	linesPerSecond = 50
)

// journal writes down what the decisions and the sensors tell, on a goroutine
// of its own. Its methods are safe for concurrent use.
type journal struct {
	log     *slog.Logger
	notes   chan note
	dropped atomic.Uint64
	// epoch turns a local time into one for people.
	epoch func(time.Time) time.Time
	// publish hears every note after it was logged, or left out of the log.
	publish func(note)

	second   int64 // the second that lines are counted in
	lines    int
	left     int    // lines left out of that second
	reported uint64 // of dropped
}

// note is one thing to write down: exactly one of its pointers is set.
type note struct {
	block    *edgeguard.Block
	over     bool // the block is an allowance whose time is over
	crossing *edgeguard.Crossing
	alarm    *edgeguard.Alarm
}

func newJournal(log *slog.Logger, epoch func(time.Time) time.Time) *journal {
	return &journal{log: log, notes: make(chan note, journalLength), epoch: epoch, publish: func(note) {}}
}

// hear takes a note. It never waits.
func (j *journal) hear(n note) {
	select {
	case j.notes <- n:
	default:
		j.dropped.Add(1)
	}
}

// run writes until ctx is done, and then what is still there.
func (j *journal) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case n := <-j.notes:
			j.write(n, time.Now().Unix())
		case <-tick.C:
			j.turn(time.Now().Unix())
		case <-ctx.Done():
			j.rest()
			return
		}
	}
}

// rest writes what waits when the node ends.
func (j *journal) rest() {
	for {
		select {
		case n := <-j.notes:
			j.write(n, time.Now().Unix())
		default:
			j.turn(0)
			return
		}
	}
}

// write logs a note, unless the second has had its lines; an alarm always is.
func (j *journal) write(n note, second int64) {
	j.turn(second)
	j.lines++
	if j.lines <= linesPerSecond || n.alarm != nil {
		j.line(n)
	} else {
		j.left++
	}
	j.publish(n)
}

// turn ends a second: it says what was left out.
func (j *journal) turn(second int64) {
	if second == j.second {
		return
	}
	if j.left > 0 {
		j.log.Info("more changes in this second, not shown", "count", j.left)
	}
	if d := j.dropped.Load(); d != j.reported {
		j.log.Warn("the log was too slow, and changes were not written", "count", d-j.reported)
		j.reported = d
	}
	j.second, j.lines, j.left = second, 0, 0
}

func (j *journal) line(n note) {
	switch {
	case n.alarm != nil:
		j.log.Warn(n.alarm.Text, alarmNames(n.alarm.Kind)...)
	case n.block != nil && n.block.Allow:
		j.allowance(n.block, n.over)
	case n.block != nil && n.block.Lifted:
		j.log.Info("unblocked", "prefix", prefixText(n.block.Prefix), "reason", n.block.Reason, "origin", n.block.Origin)
	case n.block != nil:
		b := n.block
		j.log.Info("blocked", "prefix", prefixText(b.Prefix), "rule", b.Rule, "reason", b.Reason,
			"count", b.Count, "limit", b.Limit, "until", j.epoch(b.Until).UTC().Format(time.RFC3339), "origin", b.Origin)
	case n.crossing != nil:
		c := n.crossing
		line := j.log.With("key", c.Key.String(), "rule", c.Rule, "action", c.Action.String(), "count", c.Count, "limit", c.Limit)
		if c.Stands != "" {
			line = line.With("stands", c.Stands, "until", j.epoch(c.Until).UTC().Format(time.RFC3339))
		}
		line.Info("over limit")
	}
}

// allowance writes the line of an allowance.
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
