package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
)

// tally counts the calls of a round and keeps their errors.
type tally struct {
	calls, unanswered int
	first             error // of the unanswered calls
	then              error // of what followed from the answers
}

func (t *tally) firstError() error {
	if t.first == nil {
		return t.then
	}
	return errors.Join(&pushError{calls: t.calls, unanswered: t.unanswered, err: t.first}, t.then)
}

// sendPushes sends pushes, some calls at a time, and does what follows from the
// answers before it sends more. It returns false if the rest would only fail as
// slowly.
func (p *Pusher) sendPushes(ctx context.Context, counts *aggregator.Totals, pushes []aggregator.Push, now time.Time, t *tally) bool {
	for calls := range slices.Chunk(p.group(pushes), p.together()) {
		var f followUps
		failed, err := p.exchange(ctx, counts, calls, now, &f)
		t.calls, t.unanswered = t.calls+len(calls), t.unanswered+failed
		if t.first == nil {
			t.first = err
		}
		t.then = p.followUp(ctx, counts, &f, now)
		if failed == len(calls) || t.then != nil {
			return false
		}
	}
	return true
}

// together returns how many calls are sent before their answers are read: so few that if all
// nodes send at once, Redis answers them within half a second, and none runs into its timeout.
func (p *Pusher) together() int { return max(1, min(pipelined, fleetCalls/max(1, p.others()))) }

// followUps is what answers ask for.
type followUps struct {
	again, watch []aggregator.Key
	forget       []aggregator.Cleared // before again
	over         []aggregator.SplitLook
}

// followUp does what answers ask for.
func (p *Pusher) followUp(ctx context.Context, counts *aggregator.Totals, f *followUps, now time.Time) error {
	var err error
	if len(f.forget) > 0 {
		err = p.forget(ctx, f.forget)
	}
	if len(f.again) > 0 && err == nil {
		err = p.repeat(ctx, counts, f, now)
	}
	p.prove(ctx, counts, f.over, now)
	return errors.Join(err, p.askWatches(ctx, f.watch))
}

// repeat pushes in full the keys that Redis asks for.
func (p *Pusher) repeat(ctx context.Context, counts *aggregator.Totals, f *followUps, now time.Time) error {
	var again []aggregator.Push
	for _, k := range f.again {
		if one, ok := counts.FullPush(k, now); ok {
			again = append(again, one)
		}
	}
	for calls := range slices.Chunk(p.group(again), p.together()) {
		if failed, err := p.exchange(ctx, counts, calls, now, f); err != nil {
			return &pushError{calls: len(calls), unanswered: failed, err: err}
		}
	}
	return nil
}

// exchange sends some calls and applies their answers. It returns how many
// calls were not answered, with the first reason.
func (p *Pusher) exchange(ctx context.Context, counts *aggregator.Totals, calls []*call, now time.Time, f *followUps) (failed int, first error) {
	claimed := now
	if p.live {
		claimed = p.node.Now()
	}
	failed, first = p.send(ctx, calls, p.node.Epoch(claimed))
	for _, c := range calls {
		p.applyAnswers(counts, c, now, f)
	}
	return failed, first
}

// call is one call of the push function: keys of one partition and width.
type call struct {
	partition int
	width     uint32
	pushes    []*aggregator.Push
	answers   []aggregator.Answer
	cmd       *goredis.Cmd
}

// group splits pushes into calls.
func (p *Pusher) group(pushes []aggregator.Push) []*call {
	type place struct {
		partition int
		meter     uint64
	}
	open := map[place]*call{}
	var calls []*call
	for i := range pushes {
		one := &pushes[i]
		at := place{one.Key.Partition(len(p.names.counts)), one.Key.Meter}
		c := open[at]
		if c == nil || len(c.pushes) == callKeys {
			c = &call{partition: at.partition, width: one.Width}
			open[at] = c
			calls = append(calls, c)
		}
		c.pushes = append(c.pushes, one)
	}
	return calls
}

// send sends calls, and returns how many were not answered, with the first
// reason.
func (p *Pusher) send(ctx context.Context, calls []*call, claimed time.Time) (failed int, first error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	for _, c := range calls {
		c.cmd = pipe.FCall(ctx, function("push"), p.keys(c), p.arguments(c, claimed)...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, c := range calls {
		text, err := c.cmd.Text()
		if err == nil {
			c.answers, err = aggregator.DecodeAnswers(text, len(c.pushes))
		}
		if err == nil {
			p.stats.answer.noteAnswer()
			continue
		}
		failed++
		p.stats.failed("push")
		if first == nil {
			first = fmt.Errorf("push to partition %d: %w", c.partition, err)
		}
	}
	p.stats.calls.Add(uint64(len(calls)))
	return failed, first
}

func (p *Pusher) keys(c *call) []string {
	keys := make([]string, 1, 1+len(c.pushes))
	keys[0] = p.names.clocks[c.partition]
	var b [33]byte
	for _, one := range c.pushes {
		keys = append(keys, p.names.counts[c.partition]+string(one.Key.Append(b[:0])))
	}
	return keys
}

func (p *Pusher) arguments(c *call, claimed time.Time) []any {
	args := make([]any, 1, 1+len(c.pushes))
	args[0] = aggregator.NewHeader(p.id, claimed, c.width).Append(nil)
	for _, one := range c.pushes {
		args = append(args, one.AppendBody(nil))
	}
	return args
}

// applyAnswers passes a call's answers, if any, to the node.
func (p *Pusher) applyAnswers(counts *aggregator.Totals, c *call, now time.Time, f *followUps) {
	for i, a := range c.answers {
		one := c.pushes[i]
		out := counts.Answered(one, a, now)
		if out.Forget != 0 {
			f.forget = append(f.forget, aggregator.Cleared{Key: one.Key, ClearedMark: aggregator.ClearedMark{Slot: out.Forget, Width: one.Width}})
		}
		if out.Again || out.Forget != 0 {
			f.again = append(f.again, one.Key)
		}
		if out.Watch {
			f.watch = append(f.watch, one.Key)
		} else if out.WatchLater && !p.watches.Wait(p.id, one.Key, one.Key, p.others(), now) && counts.AskWatch(one.Key, now) {
			f.watch = append(f.watch, one.Key)
		}
		if p.forged != nil {
			p.forged(one, out, now)
		}
		if out.Over || out.Renew {
			f.over = append(f.over, aggregator.NewSplitLook(one, a, out))
		}
	}
	p.stats.keys.Add(uint64(len(c.answers)))
}

// pushError says how much of a round was not answered.
type pushError struct {
	calls, unanswered int
	err               error
}

func (e *pushError) Error() string {
	return fmt.Sprintf("%d of %d calls not answered: %v", e.unanswered, e.calls, e.err)
}

func (e *pushError) Unwrap() error { return e.err }

// isConnectionLost reports whether the connection to Redis is gone altogether: not only
// that to a part of a Cluster, and not because Redis refuses the node's clock.
func isConnectionLost(err error) bool {
	var e *pushError
	if !errors.As(err, &e) {
		return err != nil
	}
	return e.unanswered == e.calls && !strings.Contains(e.err.Error(), "EDGEGUARD clock")
}
