package fleetmodel

import (
	"flag"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/fulltest"
	"edgeguard/shard"
)

// denyRuns is how many fleets with events are run: go test ./internal/fleetmodel -run
// TestDenyWithEvents -denyruns 1000.
var denyRuns = flag.Int("denyruns", 20, "fleets to which something happens")

// event lets one thing happen after which a count must not be believed any more, or may not be
// known any more.
func (d *denial) event() {
	f := d.fleet
	i := d.rnd.IntN(len(f.Nodes))
	n := f.Nodes[i]
	k := aggregator.Key{Meter: 7, Prefix: netip.PrefixFrom(denied, 32)}
	switch what := d.rnd.IntN(14); what {
	case 0: // an unblock, an allowance and a guard's lift all forget so
		f.Unblock(0, k, "", f.Now, d.rnd.IntN(2) == 0, func() bool { return d.rnd.IntN(4) > 0 })
		d.exact = make(map[*Node]map[uint32]uint32)
	case 1:
		f.Reload(n)
	case 2, 3, 8:
		d.begin(n)
	case 4:
		f.Snapshot(n)
	case 5:
		f.Wipe()
		for _, n := range f.Nodes {
			f.Rejoin(n)
		}
	case 6:
		f.Redis.Evict(string(k.Append(nil)))
	case 7:
		if len(f.Nodes) > 2 {
			f.Leave(n)
		}
	case 9:
		d.step(time.Duration(d.rnd.IntN(41)-20) * time.Duration(d.width) * time.Second)
	case 10:
		f.OldLibrary = !f.OldLibrary // a node of before has installed its own, or one of today
	case 11:
		d.step([]time.Duration{-10 * time.Minute, 10 * time.Minute}[d.rnd.IntN(2)])
	case 12:
		d.forge(k)
	case 13:
		d.unforge(k)
	}
}

// begin starts a process: one that ended, or one of a new node. None that starts within a window
// after Redis' clock went back knows that what others counted before has slots of after.
func (d *denial) begin(n *Node) {
	f := d.fleet
	switch known := f.Now.Before(d.back); d.rnd.IntN(4) {
	case 0:
		f.Restart(n, true)
	case 1:
		if !known {
			f.Restart(n, false)
		}
	case 2:
		if !known {
			f.Kill(n)
		}
	default:
		if !known && len(f.Nodes) < 8 {
			f.Join(time.Duration(d.rnd.Int64N(200)-100) * time.Millisecond)
		}
	}
}

// forgery is a count that somebody wrote into Redis in a node's name. A node may believe it until
// it is removed and the node has then had an answer of what Redis has.
type forgery struct {
	removed  bool
	answered map[string]bool // nodes by name
}

// forge writes a count of twice the limit in the name of a node, or of a stranger.
func (d *denial) forge(k aggregator.Key) {
	f := d.fleet
	id := [8]byte([]byte("stranger"))
	if d.rnd.IntN(2) == 0 {
		id, d.forgery = f.Nodes[d.rnd.IntN(len(f.Nodes))].ID, &forgery{answered: make(map[string]bool)}
	}
	m := f.Meters[0]
	m.Table = f.newTables()[0]
	now := f.Now.Add(-f.Ahead)
	forger := aggregator.New(aggregator.Config{Boot: now, Offset: f.Ahead, MaxNodes: 1, Nodes: 1, Meters: []aggregator.Meter{m}})
	for range 2 * d.limit {
		op := shard.Op{Addr: denied, Slot: slot(&m, now), Now: slot(&m, now), Cost: 1}
		forger.Count(0, &op, m.Table.Add(&op).Count)
	}
	for pushes := range forger.Collect(now, 1) {
		header := aggregator.NewHeader(id, now.Add(f.Ahead), m.Width).Append(nil)
		c := Command{"edgeguard1_push", []string{"clock", string(k.Append(nil))}, []string{string(header), string(pushes[0].AppendBody(nil))}}
		if _, err := f.command(f.Nodes[0], &c); err != nil {
			f.fail(err)
		}
	}
}

// unforge removes what was forged, as an operator does: all that Redis has of the key.
func (d *denial) unforge(k aggregator.Key) {
	d.fleet.Redis.Evict(string(k.Append(nil)))
	if d.forgery != nil {
		d.forgery.removed = true
	}
}

// answered notes an answer to a node's push.
func (d *denial) answered(n *Node, _ *Call, _ *aggregator.Push, a aggregator.Answer, _ aggregator.Outcome) {
	if d.forgery != nil && d.forgery.removed && a.Status&aggregator.StatusSendFull == 0 {
		d.forgery.answered[n.Name] = true
	}
}

// believed reports whether a node may go by what was forged.
func (y *forgery) believed(n *Node) bool { return y != nil && !(y.removed && y.answered[n.Name]) }

// step moves Redis' clock, and with it the time that the run goes by.
func (d *denial) step(by time.Duration) {
	d.back = d.back.Add(by)
	if until := d.fleet.Now.Add(by + max(-by, 0) + window(&d.fleet.Meters[0]) + 3*time.Second); by < 0 && until.After(d.back) {
		d.back = until
	}
	d.fleet.StepClock(by, func() time.Duration { return time.Duration(d.rnd.IntN(3000)) * time.Millisecond })
	d.next, d.end = d.next.Add(by), d.end.Add(by)
}

// TestDenyWithEvents: nothing that happens to a fleet has it deny what is not over the limit.
func TestDenyWithEvents(t *testing.T) {
	fulltest.Only(t)
	falls := 0
	for seed := range uint64(*denyRuns) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		d := denial{width: uint32(1 + rnd.IntN(2)), limit: uint32(10 + rnd.IntN(100)), nodes: 2 + rnd.IntN(7),
			times: 0.5 + 2*rnd.Float64(), spread: denySpreads[rnd.IntN(3)], shadow: rnd.IntN(4) == 0, events: true}
		d.run(t, seed+1, 3)
		if falls += d.over - d.passed; d.falsely > 0 {
			t.Errorf("seed %d, %s: %d denied falsely of %d", seed, &d, d.falsely, d.requests)
		}
	}
	if falls == 0 {
		t.Error("nothing was denied at all")
	}
}
