package fleetmodel

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"edgeguard/aggregator"
)

// PushRound is what a node does at each interval.
func (f *Fleet) PushRound(n *Node) {
	var all []aggregator.Push
	for pushes := range n.Totals.Collect(f.Local(n), callKeys) {
		all = append(all, pushes...)
	}
	f.push(n, all)
	f.reconcile(n)
	f.TakeTurns(n)
}

// PushUrgent is what a node does between its rounds.
func (f *Fleet) PushUrgent(n *Node) {
	for more := !n.Cut; more; {
		var some []aggregator.Push
		some, more = n.Totals.CollectUrgent(f.Local(n), callKeys)
		f.push(n, some)
	}
}

// reconcile lets a node compare with Redis what is due.
func (f *Fleet) reconcile(n *Node) {
	var all []aggregator.Push
	for more := !n.Cut; more; {
		var some []aggregator.Push
		some, more = n.Totals.Reconcile(f.Local(n), 3)
		all = append(all, some...)
	}
	f.push(n, all)
}

// ReadWatches lets a node read the watch list, up to what came there at a time, and
// push what it has of these keys.
func (f *Fleet) ReadWatches(n *Node, until time.Time) {
	if n.Cut {
		return
	}
	var all []aggregator.Push
	seen := make(map[aggregator.Key]bool) // several nodes may have added one
	for ; n.read < len(f.stream) && !f.stream[n.read].at.After(until); n.read++ {
		k := f.stream[n.read].key
		if seen[k] {
			continue
		}
		seen[k] = true
		if p, ok := n.Totals.Watch(k, f.Local(n)); ok {
			all = append(all, p)
		}
	}
	f.push(n, all)
}

// Watches is how many entries the watch list has.
func (f *Fleet) Watches() int { return len(f.stream) }

// TakeAnswers is what a node does with the answers to a call, unless it has ended. They
// go to the Totals that made the pushes: a reload may have replaced it.
func (f *Fleet) TakeAnswers(d Delivery) {
	n, call := d.Node, d.Call
	if n.ended {
		return
	}
	for i, a := range d.Answers {
		p := &call.Pushes[i]
		out := call.Totals.Answered(p, a, f.Local(n))
		if f.Answered != nil {
			f.Answered(n, call, p, a, out)
		}
		if out.Forget != 0 {
			f.forget(n, p.Key, out.Forget)
			out.Again = true
		}
		out.Over = out.Over && !f.settled(n, p.Key) // as the pusher asks
		if (out.Over || out.Renew) && !n.Totals.Forgotten(p.Key, p.NewestSlot()) {
			f.prove(n, call.Totals, aggregator.NewSplitLook(p, a, out))
		}
		if out.Watch {
			f.watch(n, p.Key)
		} else if out.WatchLater {
			n.watches.Wait(n.ID, p.Key, p.Key, len(f.Nodes), f.Local(n))
		}
		if out.Again {
			if full, ok := call.Totals.FullPush(p.Key, f.Local(n)); ok {
				f.push(n, []aggregator.Push{full})
			}
		}
	}
}

func (f *Fleet) settled(n *Node, k aggregator.Key) bool { return f.Settled != nil && f.Settled(n, k) }

// watch adds a key to the watch list.
func (f *Fleet) watch(n *Node, k aggregator.Key) {
	f.stream = append(f.stream, watch{k, f.Now})
	if f.Called != nil {
		f.Called(n, &Command{"XADD", []string{"watch"}, []string{"k", string(k.Append(nil))}}, "", nil)
	}
}

// prove has the split of a key that is over the limit read, as the pusher does: at once if
// this node's push may have crossed it, or else if nobody has blocked it by the node's turn.
func (f *Fleet) prove(n *Node, totals *aggregator.Totals, look aggregator.SplitLook) {
	leaves := look.Act && !look.Mine && !look.Renew
	if n.looks.Has(look.Key) {
		if leaves {
			n.looks.Wait(n.ID, look.Key, look, len(f.Nodes), f.Local(n))
			return
		}
		n.looks.Forget(look.Key)
	} else {
		due, first := totals.AskSplit(look.Key, !look.Act, f.Local(n))
		if !due || first && leaves && n.looks.Wait(n.ID, look.Key, look, len(f.Nodes), f.Local(n)) {
			return
		}
	}
	f.look(n, totals, look)
}

// TakeTurns lets a node do what it left to others, and none has done.
func (f *Fleet) TakeTurns(n *Node) {
	if n.Cut {
		return
	}
	for _, look := range n.looks.TakeDue(f.Local(n)) {
		if !n.Totals.Forgotten(look.Key, look.Heads[0]) && !f.settled(n, look.Key) {
			f.look(n, n.Totals, look)
		}
	}
	for _, k := range n.watches.TakeDue(f.Local(n)) {
		if n.Totals.AskWatch(k, f.Local(n)) {
			f.watch(n, k)
		}
	}
}

// Waits reports whether a node leaves something to others.
func (n *Node) Waits() bool { return n.looks.Len()+n.watches.Len() > 0 }

// look reads the split of a key, and blocks it by what nodes counted: in the window of the
// push or, if the peak is of another one, in those around it. Of a rule that acts at each
// event it renews what is proven.
func (f *Fleet) look(n *Node, totals *aggregator.Totals, look aggregator.SplitLook) {
	over, stranger := f.proves(n, totals, look)
	if !over && look.Act && look.Moved {
		look.Slots = false
		look.Heads = aggregator.HeadsAround(look.Heads[0], f.width(look.Key))
		over, stranger = f.proves(n, totals, look)
	}
	if over {
		n.doubts.Settle(look.Key)
	} else {
		n.doubts.NoteStranger(look.Key, stranger, f.Local(n))
	}
}

// proves reports whether the splits of some windows prove that a key is over the
// limit, and says so then.
func (f *Fleet) proves(n *Node, totals *aggregator.Totals, look aggregator.SplitLook) (over bool, stranger aggregator.SplitField) {
	var splits [][]aggregator.SplitField
	for _, head := range look.Heads {
		splits = append(splits, f.Split(n, look.Key, head, look.Slots))
	}
	judge := aggregator.SplitJudge{Own: n.ID, Known: f.known}
	sum := judge.GreatestSum(splits, look.Own)
	head := look.Heads[sum.At]
	if look.Slots {
		totals.Foresee(look.Key, head, sum.Fields, n.ID)
	}
	if over = totals.Prove(look.Key, head, sum.Counted); over && look.Act && !n.Totals.Forgotten(look.Key, head) { // as the pusher asks
		f.Over(n, look.Key, sum.Counted)
	}
	return over, sum.Stranger
}

// Split reads what each node counted of a key in the window that ends at a slot, with its
// slots if Redis' functions know them.
func (f *Fleet) Split(n *Node, k aggregator.Key, head uint32, slots bool) []aggregator.SplitField {
	args := []string{fmt.Sprint(head)}
	if slots && !f.OldLibrary {
		args = append(args, "slots")
	}
	reply, err := f.command(n, &Command{"edgeguard1_split", []string{string(k.Append(nil))}, args})
	if err != nil {
		f.fail(fmt.Errorf("split: %w", err))
		return nil
	}
	return aggregator.SplitFields(reply.([]any))
}

// LookAgain lets a node look again at what it could not prove.
func (f *Fleet) LookAgain(n *Node) {
	if n.Cut {
		return
	}
	again, explained := n.doubts.Report(f.Local(n), f.known, noAlarms{})
	for _, k := range explained {
		n.Totals.Explained(k)
	}
	again = append(again, explained...)
	slices.SortFunc(again, func(a, b aggregator.Key) int { return bytes.Compare(a.Append(nil), b.Append(nil)) })
	for _, k := range again {
		if p, ok := n.Totals.Watch(k, f.Local(n)); ok {
			f.push(n, []aggregator.Push{p})
		}
	}
}

type noAlarms struct{}

func (noAlarms) Alarm(_, _, _ string) {}
func (noAlarms) Calm(_, _ string)     {}
