package aggregator_test

import (
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/redistwin"
	"edgeguard/shard"
)

// unblocked is a node that pushes what a client sends, which goes on, while it is
// unblocked: by this node's operator or another's. Redis is the library's reference.
type unblocked struct {
	t      *testing.T
	now    time.Time
	at     time.Time // of the unblock
	redis  *redistwin.Redis
	table  *shard.Table
	counts *aggregator.Totals
	under  []aggregator.Push // under way
	answer []aggregator.Answer
	order  []string // of what happened
}

const unblockedWidth = 5

var sender = netip.MustParsePrefix("203.0.113.9/32")

func newUnblocked(t *testing.T) *unblocked {
	u := &unblocked{t: t, now: time.Unix(1_700_000_000, 0), redis: redistwin.New(), table: shard.New(shard.NewMemory(1<<16), shard.Config{Seed: 1})}
	if _, err := u.redis.Call(time.Time{}, "edgeguard1_replay_clock", []string{"c"}, []string{"claimed"}); err != nil {
		t.Fatal(err)
	}
	u.counts = aggregator.New(aggregator.Config{
		Meters: []aggregator.Meter{{Fingerprint: 7, Width: unblockedWidth, Limit: 40, Table: u.table}}, Boot: u.now, MaxNodes: 2, Nodes: 2, Seed: 1,
	})
	u.counts.Sweep(u.now)
	return u
}

// sends counts requests of the client.
func (u *unblocked) sends(n int) {
	for range n {
		slot := uint32(u.now.Unix() / unblockedWidth)
		op := shard.Op{Addr: sender.Addr(), Now: slot, Slot: slot, Cost: 1}
		u.counts.Count(0, &op, u.table.Add(&op).Count)
	}
}

// The steps of a push.
func (u *unblocked) build() {
	u.under, u.answer = nil, nil
	for some := range u.counts.Collect(u.now, 100) {
		u.under = append(u.under, some...)
	}
}

func (u *unblocked) arrives() {
	for i := range u.under {
		p := &u.under[i]
		header := aggregator.NewHeader([8]byte{1}, u.now, unblockedWidth).Append(nil)
		reply, err := u.redis.Call(u.now, "edgeguard1_push", []string{"c", string(p.Key.Append(nil))}, []string{string(header), string(p.AppendBody(nil))})
		if err != nil {
			u.t.Fatal(err)
		}
		answers, err := aggregator.DecodeAnswers(reply.(string), 1)
		if err != nil {
			u.t.Fatal(err)
		}
		u.answer = append(u.answer, answers...)
	}
}

func (u *unblocked) answered() {
	for i, a := range u.answer {
		if out := u.counts.Answered(&u.under[i], a, u.now); out.Forged {
			u.t.Errorf("%s: the answer %+v is taken for forged", strings.Join(u.order, ", "), a)
		}
	}
}

func (u *unblocked) pushes() {
	u.build()
	u.arrives()
	u.answered()
}

// The steps of an unblock.
func (u *unblocked) clears() {
	u.counts.Cleared(sender, u.now)
	u.table.Clear(sender.Addr(), "")
}

func (u *unblocked) forgets() { u.counts.Forget(sender, u.at) }

func (u *unblocked) forgotten() {
	key := aggregator.Key{Meter: 7, Prefix: sender}
	slot := u.at.Unix()/unblockedWidth + 1
	if _, err := u.redis.Call(u.now, "edgeguard1_forget", []string{string(key.Append(nil))}, []string{fmt.Sprint(slot), fmt.Sprint(unblockedWidth)}); err != nil {
		u.t.Fatal(err)
	}
}

// unblockStep is a step of an unblock or of a push.
type unblockStep struct {
	name string
	do   func(*unblocked)
}

var (
	pushSteps    = []unblockStep{{"built", (*unblocked).build}, {"arrives", (*unblocked).arrives}, {"answered", (*unblocked).answered}}
	unblockSteps = []unblockStep{{"detector forgets", (*unblocked).clears}, {"totals forget", (*unblocked).forgets}, {"Redis forgets", (*unblocked).forgotten}}
)

// runUnblocked takes the steps, with a push before and three after them. A slot ends
// before the step of this number.
func runUnblocked(t *testing.T, steps []unblockStep, ends int) {
	t.Helper()
	u := newUnblocked(t)
	u.sends(50)
	u.pushes()
	u.now = u.now.Add(unblockedWidth * time.Second)
	u.at = u.now
	for i, one := range steps {
		u.sends(3)
		if i == ends {
			u.now = u.now.Add(unblockedWidth * time.Second)
			u.order = append(u.order, "a slot ends")
			u.sends(3)
		}
		u.order = append(u.order, one.name)
		one.do(u)
	}
	for range 3 {
		u.now = u.now.Add(unblockedWidth * time.Second)
		u.order = append(u.order, "another push")
		u.sends(1)
		u.pushes()
	}
}

// TestUnblockDuringAPush: what a node counted and pushed before it forgets its counts
// is in Redis in its name, and nobody forged it. The steps of an unblock are: the
// detector forgets the counts, the totals forget the key, and Redis does. Nothing
// orders them: the node that makes it may notify its link late, another node receives
// it late, and Redis is asked by whoever is first. Each order of them meets two pushes
// at each of their steps, and a slot ends at any point. The client sends all the time.
func TestUnblockDuringAPush(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for mask := uint(0); mask < 1<<9; mask++ { // which of nine steps are the unblock's
			if bits.OnesCount(mask) != len(order) {
				continue
			}
			var steps []unblockStep
			pushes, unblocks := slices.Concat(pushSteps, pushSteps), order
			for i := range 9 {
				if mask>>i&1 == 1 {
					steps, unblocks = append(steps, unblockSteps[unblocks[0]]), unblocks[1:]
				} else {
					steps, pushes = append(steps, pushes[0]), pushes[1:]
				}
			}
			for ends := range 10 {
				runUnblocked(t, steps, ends)
			}
			if t.Failed() {
				return
			}
		}
	}
}
