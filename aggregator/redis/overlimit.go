package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
)

// mostLater bounds the keys that wait for a first look. The others are tried with their
// next push.
const mostLater = 10_000

// prove passes on the keys of which nodes counted more than the limit. The others
// wait for another push: a total alone is no evidence.
func (p *Pusher) prove(ctx context.Context, counts *aggregator.Totals, answered []aggregator.SplitLook, now time.Time) {
	again, waiting := p.due(counts, answered, now)
	for len(again)+len(waiting) > 0 {
		some := again[:min(len(again), callKeys)]
		if again = again[len(some):]; len(some) == 0 {
			most, _ := aggregator.SplitsFor(p.fields)
			n := p.firsts.TakeReads(min(len(waiting), callKeys), most, now)
			if some, waiting = waiting[:n], waiting[n:]; n == 0 {
				break
			}
		}
		moved, err := p.proveSome(ctx, counts, some, now)
		if err == nil && len(moved) > 0 {
			_, err = p.proveSome(ctx, counts, moved, now)
		}
		if err != nil {
			p.stats.failed("split")
			p.stats.noteError(fmt.Errorf("split over the nodes: %w", err))
			waiting = slices.Concat(some, waiting) // not answered: not looked at
			break
		}
	}
	p.later = slices.Clone(waiting[:min(len(waiting), mostLater)])
}

// due returns the keys whose split is to be read again, and those that are to be looked at
// for the first time. Of these, there may be more than Redis can answer all nodes for: those
// go first of which this node has counted most. Whoever raises the counts of very many clients
// must not hide those that attack.
func (p *Pusher) due(counts *aggregator.Totals, answered []aggregator.SplitLook, now time.Time) (again, first []aggregator.SplitLook) {
	settled := func(o aggregator.SplitLook) bool {
		return !o.Renew && (!o.Act || p.node.Settled(o.Key, o.Peak))
	}
	first = slices.DeleteFunc(append(p.later, p.looks.TakeDue(now)...), settled)
	_, agains := aggregator.SplitsFor(p.fields)
	for _, o := range answered {
		if settled(o) {
			continue
		}
		o.Act = o.Act && !p.node.Settled(o.Key, o.Peak)
		leaves := p.leaves(o)
		if p.looks.Has(o.Key) {
			if leaves {
				p.looks.Wait(p.id, o.Key, o, p.others(), now) // its newest window
			} else {
				p.looks.Forget(o.Key)
				first = append(first, o)
			}
			continue
		}
		switch due, new := counts.AskSplit(o.Key, !o.Act, now); {
		case due && new && leaves && p.looks.Wait(p.id, o.Key, o, p.others(), now):
		case due && new:
			first = append(first, o)
		case due && p.agains.TakeReads(1, agains, now) == 1:
			again = append(again, o)
		}
	}
	slices.SortStableFunc(first, func(a, b aggregator.SplitLook) int { return cmp.Compare(b.Sum, a.Sum) })
	return again, first
}

// leaves reports whether the node leaves a key to the node whose push crossed the limit: that
// one proves it, and its block settles it here. Not where the node weighs such a block: what it
// holds, or has charged, it must prove for itself. Nor what must be renewed, which no block is.
func (p *Pusher) leaves(o aggregator.SplitLook) bool {
	return o.Act && !o.Mine && !o.Renew && !p.node.Weighs(o.Key)
}

// others returns how many nodes there are to leave something to, this one included; 0
// where there are no heartbeats, as in a replay.
func (p *Pusher) others() int { return int(p.stats.nodes.Load()) }

// TakeTurns does what the node left to others, and none has done. now is local time.
func (p *Pusher) TakeTurns(ctx context.Context, now time.Time) error {
	counts := p.node.Counts()
	if p.looks.Len() > 0 {
		p.prove(ctx, counts, nil, now)
	}
	var keys []aggregator.Key
	for _, k := range p.watches.TakeDue(now) {
		if counts.AskWatch(k, now) {
			keys = append(keys, k)
		}
	}
	return p.askWatches(ctx, keys)
}

// waits reports whether the node leaves something to others.
func (p *Pusher) waits() bool { return p.looks.Len()+p.watches.Len()+len(p.unasked) > 0 }

// proveSome proves some keys. It returns those to look at again, with other windows.
func (p *Pusher) proveSome(ctx context.Context, counts *aggregator.Totals, keys []aggregator.SplitLook, now time.Time) (moved []aggregator.SplitLook, err error) {
	splits, err := p.splits(ctx, keys)
	if err != nil {
		return nil, err
	}
	p.fields = meanFields(splits)
	judge := aggregator.SplitJudge{Own: p.id, Known: p.known(now)}
	if p.refreshNames != nil && now.Sub(p.refreshed) >= time.Second && slices.ContainsFunc(splits, judge.Strange) {
		p.refreshed = now
		p.refreshNames(ctx)
		if slices.ContainsFunc(splits, judge.Strange) {
			p.nodes.ReadAllSoon() // a node whose heartbeats have not counted yet is not told as new: all are read
		}
	}
	_, agains := aggregator.SplitsFor(p.fields)
	for i, o := range keys {
		most := judge.GreatestSum(splits[i], o.Own)
		if o.Slots {
			counts.Foresee(o.Key, o.Heads[0], most.Fields, p.id)
		}
		switch {
		case counts.Prove(o.Key, o.Heads[most.At], most.Counted):
			p.doubts.Settle(o.Key)
			// An unblock may have come while the split was read, and a reload.
			if o.Act && !p.node.Counts().Forgotten(o.Key, o.Heads[most.At]) {
				p.node.Over(o.Key, most.Counted, aggregator.SplitByNode(most.Fields, p.nodes.NodeName))
			}
		case o.Act && o.Moved && len(o.Heads) == 1 && p.agains.TakeReads(aggregator.SplitWindows, agains, now) == aggregator.SplitWindows:
			o.Slots = false
			o.Heads = aggregator.HeadsAround(o.Heads[0], p.node.Width(o.Key.Meter))
			moved = append(moved, o)
		default:
			p.doubts.NoteStranger(o.Key, most.Stranger, now)
		}
	}
	return moved, nil
}

// known returns which IDs are of nodes whose counts are evidence at now.
func (p *Pusher) known(now time.Time) func(id [8]byte) bool {
	since := aggregator.SplitSince(p.node.Epoch(now), p.window)
	return func(id [8]byte) bool { return p.nodes.Evidence(id, since) }
}

// splits returns the fields of each key in each of its windows. Functions of before do not know
// splits of slots: for a minute those that want slots are asked for sums alone. So what is
// proven holds in its slot, as it did, and a node of today works beside them.
func (p *Pusher) splits(ctx context.Context, keys []aggregator.SplitLook) ([][][]aggregator.SplitField, error) {
	if time.Now().Unix() < p.sumsUntil.Load() {
		return p.splitsOf(ctx, keys, false)
	}
	splits, err := p.splitsOf(ctx, keys, true)
	if err != nil && strings.Contains(err.Error(), "EDGEGUARD arguments: split ") {
		p.sumsUntil.Store(time.Now().Add(time.Minute).Unix())
		return p.splitsOf(ctx, keys, false)
	}
	return splits, err
}

// splitsOf is splits, with slots where they are wanted, or without.
func (p *Pusher) splitsOf(ctx context.Context, keys []aggregator.SplitLook, slots bool) ([][][]aggregator.SplitField, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	var cmds []*goredis.Cmd
	for _, o := range keys {
		for _, head := range o.Heads {
			args := []any{head}
			if slots && o.Slots {
				args = append(args, "slots")
			}
			cmds = append(cmds, pipe.FCallRO(ctx, function("split"), []string{p.names.suspect(o.Key)}, args...))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	splits := make([][][]aggregator.SplitField, len(keys))
	for i, o := range keys {
		for range o.Heads {
			answer, _ := cmds[0].Slice() // Exec has returned the errors
			splits[i], cmds = append(splits[i], aggregator.SplitFields(answer)), cmds[1:]
		}
	}
	return splits, nil
}

// meanFields returns how many fields a split has.
func meanFields(splits [][][]aggregator.SplitField) int {
	looks, fields := 0, 0
	for _, heads := range splits {
		for _, one := range heads {
			looks, fields = looks+1, fields+len(one)
		}
	}
	return fields / max(looks, 1)
}
