package fleetmodel

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/redistwin"
)

// callKeys is the most keys of one call, as of the pusher.
const callKeys = 200

// Fate is what becomes of a push call. The zero value: Redis answers at once.
type Fate struct {
	Lost       bool          // it does not reach Redis
	Unanswered bool          // the answer does not reach the node
	Twice      bool          // it reaches Redis twice
	Late       time.Duration // it reaches Redis so much later, and so behind others
	AnswerLate time.Duration // the answer reaches the node so much later
}

// Call is one call of the push function: keys of one partition and meter.
type Call struct {
	Totals *aggregator.Totals // that made the pushes
	Pushes []aggregator.Push
	Command
}

// Command is what Redis is asked: a function or a command with its keys, without the
// namespace's prefix, and arguments.
type Command struct {
	Function   string
	Keys, Args []string
}

// Delivery is a call that reaches Redis later than it was made or, with answers,
// one whose answers reach the node later.
type Delivery struct {
	At      time.Time
	Node    *Node
	Call    *Call
	Answers []aggregator.Answer
}

// push sends pushes to Redis, grouped into calls as the pusher does.
func (f *Fleet) push(n *Node, pushes []aggregator.Push) {
	if n.Cut {
		return
	}
	for _, call := range f.group(n, pushes) {
		fate := Fate{}
		if f.Fate != nil {
			fate = f.Fate(n, call)
		}
		switch {
		case fate.Lost:
		case fate.Late > 0:
			f.Late = append(f.Late, Delivery{f.Now.Add(fate.Late), n, call, nil})
		case fate.AnswerLate > 0:
			f.Late = append(f.Late, Delivery{f.Now.Add(fate.AnswerLate), n, call, f.call(n, call)})
		default:
			f.apply(n, call, !fate.Unanswered)
			if fate.Twice {
				f.apply(n, call, !fate.Unanswered)
			}
		}
	}
}

// group makes calls of pushes, in the order of keys: a node's own order is random,
// and a seed must give one run.
func (f *Fleet) group(n *Node, pushes []aggregator.Push) (calls []*Call) {
	slices.SortFunc(pushes, func(a, b aggregator.Push) int { return bytes.Compare(a.Key.Append(nil), b.Key.Append(nil)) })
	type place struct {
		partition int
		meter     uint64
	}
	open := make(map[place]*Call)
	for i := range pushes {
		p := &pushes[i]
		at := place{p.Key.Partition(f.Partitions), p.Key.Meter}
		c := open[at]
		if c == nil || len(c.Pushes) == callKeys {
			c = &Call{Totals: n.Totals, Command: Command{Function: "edgeguard1_push", Keys: []string{"clock"}}}
			c.Args = []string{string(aggregator.NewHeader(n.ID, f.Epoch(n), p.Width).Append(nil))}
			open[at] = c
			calls = append(calls, c)
		}
		c.Pushes = append(c.Pushes, *p)
		c.Keys = append(c.Keys, string(p.Key.Append(nil)))
		c.Args = append(c.Args, string(p.AppendBody(nil)))
	}
	return calls
}

// Deliver brings in what was late, in the order in which it was sent.
func (f *Fleet) Deliver() {
	due := f.Late
	f.Late = nil
	for _, d := range due {
		switch {
		case d.At.After(f.Now):
			f.Late = append(f.Late, d)
		case d.Answers == nil:
			f.apply(d.Node, d.Call, !d.Node.ended)
		default:
			f.TakeAnswers(d)
		}
	}
}

// apply is one call as Redis sees it, and what the node does with the answer.
func (f *Fleet) apply(n *Node, call *Call, answered bool) {
	answers := f.call(n, call)
	switch d := (Delivery{f.Now.Add(time.Hour), n, call, answers}); {
	case !answered:
	case f.Hold:
		f.Late = append(f.Late, d)
	default:
		f.TakeAnswers(d)
	}
}

// call is one call as Redis sees it; none is answered if Redis refuses it.
func (f *Fleet) call(n *Node, call *Call) []aggregator.Answer {
	reply, err := f.command(n, &call.Command)
	var refused redistwin.Error
	if errors.As(err, &refused) && strings.HasPrefix(string(refused), "EDGEGUARD clock ") {
		return []aggregator.Answer{} // it was so late, or its clock is so wrong: lost
	}
	if err != nil {
		f.fail(fmt.Errorf("push: %w", err))
		return []aggregator.Answer{}
	}
	answers, err := aggregator.DecodeAnswers(reply.(string), len(call.Pushes))
	if err != nil {
		f.fail(fmt.Errorf("answers: %w", err))
	}
	return answers
}

// command is one command as Redis sees it.
func (f *Fleet) command(n *Node, c *Command) (any, error) {
	reply, err := f.Redis.Call(f.Now, c.Function, c.Keys, c.Args)
	if f.Called != nil {
		f.Called(n, c, reply, err)
	}
	return reply, err
}

// Publish merges a record into the fleet's list. What follows from that on other nodes
// is the caller's.
func (f *Fleet) Publish(n *Node, prefix, record string) {
	c := Command{"edgeguard1_publish", []string{"blocks", "ends", "stream", "state", "macs"},
		[]string{strconv.FormatInt(f.Now.UnixMilli(), 10), prefix, record, ""}}
	if _, err := f.command(n, &c); err != nil {
		f.fail(fmt.Errorf("publish: %w", err))
	}
}
