package fleetmodel

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/ring"
	"edgeguard/shard"
)

// measureDeny prints what passes at all settings, with the functions of before and with
// those of today: go test ./internal/fleetmodel -run TestDenyMeasured -deny -v. One of them:
// -run 'TestDenyMeasured/300_s,_limit_100,_8_nodes'.
var measureDeny = flag.Bool("deny", false, "measure what a deny rule lets pass, for minutes")

// denial is one client of a fleet with a rule that denies, over three windows.
type denial struct {
	nodes  int
	width  uint32
	limit  uint32
	times  float64 // of the limit, that the client sends in a window
	spread string
	old    bool // Redis has the functions of before
	shadow bool // another rule of the meter shadows at half the limit
	events bool // what may go wrong does

	rnd      *rand.Rand
	next     time.Time // the next request
	end      time.Time
	fleet    *Fleet
	exact    map[*Node]map[uint32]uint32 // requests by node and by its local slot
	passed   int                         // of over
	over     int                         // requests that were over the limit
	falsely  int                         // denied and not over the limit
	requests int
	splits   int
	sent     int
	retries  *retries
	forgery  *forgery
	back     time.Time // until then counts have slots for the second time
}

const denyStep = 25 * time.Millisecond

var denied = netip.MustParseAddr("192.0.2.1")

func (d *denial) start(seed uint64) {
	d.rnd = rand.New(rand.NewPCG(seed, 9))
	m := aggregator.Meter{Fingerprint: 7, Width: d.width, Limit: d.limit, Renews: d.limit}
	if d.shadow {
		m.Limit = d.limit / 2
	}
	now := time.Unix(1_700_000_000+d.rnd.Int64N(1000), d.rnd.Int64N(1e9))
	d.fleet = New(Config{Quiet: true, MaxNodes: d.nodes, Share: 0.1, Seed: seed, OldLibrary: d.old, Meters: []aggregator.Meter{m},
		Over: func(*Node, aggregator.Key, uint32) {}, Settled: func(*Node, aggregator.Key) bool { return true }, // no rule blocks
		Answered: d.answered,
		Called: func(_ *Node, c *Command, _ any, _ error) {
			if c.Function == "edgeguard1_split" {
				d.splits++
			}
		}}, now)
	d.exact = make(map[*Node]map[uint32]uint32)
	for range d.nodes {
		d.fleet.Join(time.Duration(d.rnd.Int64N(200)-100) * time.Millisecond)
	}
}

// run sends for so many windows.
func (d *denial) run(t *testing.T, seed uint64, windows int) {
	d.start(seed)
	f := d.fleet
	gap := time.Duration(float64(window(&f.Meters[0])) / float64(d.limit) / d.times)
	d.next, d.end = f.Now.Add(time.Second), f.Now.Add(time.Duration(windows)*window(&f.Meters[0]))
	for tick := 0; f.Now.Before(d.end); tick++ {
		f.Now = f.Now.Add(denyStep)
		f.Deliver()
		if d.retries != nil {
			d.retries.pause(d)
		}
		for ; !d.next.After(f.Now); d.next = d.next.Add(time.Duration(float64(gap) * (0.8 + 0.4*d.rnd.Float64()))) {
			n := d.node()
			if rest, refused := d.send(n); refused && d.retries != nil && d.retries.runs && d.sent%10 == 0 {
				d.retries.compare(d, n, rest)
			}
		}
		if d.events && d.rnd.IntN(400) == 0 {
			d.event()
		}
		for i, n := range f.Nodes {
			if (tick+7*i)%20 == 0 {
				f.PushRound(n)
			}
			f.PushUrgent(n)
			f.ReadWatches(n, f.Now.Add(-denyStep))
			if (tick+7*i)%40 == 0 {
				f.LookAgain(n)
			}
			f.LearnClock(n)
		}
	}
	if f.Err() != nil {
		t.Fatalf("seed %d, %s: %v", seed, d, f.Err())
	}
}

// node is where the next request goes.
func (d *denial) node() *Node {
	d.sent++
	all := d.fleet.Nodes
	switch d.spread {
	case "random":
		return all[d.rnd.IntN(len(all))]
	case "sticky": // for 10 seconds
		return all[int(d.fleet.Now.Unix()/10)%len(all)]
	}
	return all[d.sent%len(all)]
}

// sumAt is what all nodes counted in the window that ends at a slot.
func (d *denial) sumAt(slot uint32) (sum uint32) {
	for _, counts := range d.exact {
		for i := range uint32(ring.Slots) {
			sum += counts[slot-i]
		}
	}
	return sum
}

// send counts a request and judges the decision by the log of all of them.
func (d *denial) send(n *Node) (rest uint32, refused bool) {
	f := d.fleet
	s := slot(&f.Meters[0], f.Local(n))
	if d.exact[n] == nil {
		d.exact[n] = make(map[uint32]uint32)
	}
	d.exact[n][s]++
	sum := d.sumAt(s)
	here, rest := f.Count(n, 0, &shard.Op{Addr: denied, Slot: s, Now: s, Cost: 1})
	refused = here.Count+rest > d.limit
	d.requests++
	switch {
	case sum > d.limit:
		d.over++
		if !refused {
			d.passed++
		}
	case refused && !d.forgery.believed(n):
		d.falsely++
	}
	return rest, refused
}

func (d *denial) String() string {
	return fmt.Sprintf("%3d s, limit %d, %d nodes, %v times, %s", d.width*ring.Slots, d.limit, d.nodes, d.times, d.spread)
}

func (d *denial) share() float64 { return 100 * float64(d.passed) / float64(max(d.over, 1)) }

func (d *denial) splitsEach() float64 { return float64(d.splits) / float64(max(d.requests, 1)) }

// sum runs some seeds, and adds them up.
func (d denial) sum(t *testing.T, seeds uint64) denial {
	all := d
	for seed := range seeds {
		one := d
		one.run(t, seed+1, 3)
		all.over, all.passed, all.falsely = all.over+one.over, all.passed+one.passed, all.falsely+one.falsely
		all.requests, all.splits = all.requests+one.requests, all.splits+one.splits
	}
	return all
}

// before is the same with functions of before.
func (d denial) before(t *testing.T, seeds uint64) denial {
	d.old = true
	return d.sum(t, seeds)
}

// most is how much of what is over the limit may pass, in percent; 100: that is not promised.
func (d *denial) most() float64 {
	if (d.times-1)*float64(d.limit) < 4*float64(d.nodes) {
		return 100
	}
	switch {
	case d.times >= 10:
		return 1
	case d.times >= 3:
		return 3
	case d.times >= 2:
		return 5
	}
	return 10
}

var denySpreads = []string{"in turn", "random", "sticky"}

// TestDenyMeasured prints what passes and what is read at each setting.
func TestDenyMeasured(t *testing.T) {
	if !*measureDeny {
		t.Skip("-deny measures all settings")
	}
	for _, width := range []uint32{5, 1} {
		for _, limit := range []uint32{20, 100, 1000} {
			for _, nodes := range []int{2, 4, 8, 20} {
				for _, times := range []float64{1.2, 2, 3, 10} {
					for _, spread := range denySpreads {
						if limit == 1000 && (times > 3 || nodes > 8) {
							continue
						}
						d := denial{width: width, limit: limit, nodes: nodes, times: times, spread: spread}
						t.Run(strings.Join(strings.Fields(d.String()), " "), d.measure)
					}
				}
			}
		}
	}
}

// measure prints one setting.
func (d *denial) measure(t *testing.T) {
	was, is := d.before(t, 2), d.sum(t, 2)
	note := ""
	if is.share() > d.most() {
		note += " MISSED"
	}
	if is.share() > was.share()+0.05 || is.splitsEach() > was.splitsEach() {
		note += " WORSE"
	}
	t.Logf("%-50s passes %5.1f -> %5.1f %%, false %d -> %d, splits a request %.3f -> %.3f%s", d,
		was.share(), is.share(), was.falsely, is.falsely, was.splitsEach(), is.splitsEach(), note)
}

// TestDeny: of what is over the limit no more passes than is promised, no request is denied
// that is not over the limit, and no more splits are read than without what will remain.
func TestDeny(t *testing.T) {
	t.Parallel()
	for _, d := range []denial{
		{nodes: 8, times: 3, spread: "in turn"}, {nodes: 8, times: 2, spread: "random"},
		{nodes: 8, times: 10, spread: "in turn"}, {nodes: 4, times: 1.2, spread: "in turn"},
		{nodes: 2, times: 1.2, spread: "sticky"}, {nodes: 8, times: 10, spread: "sticky"}, {nodes: 8, times: 3, spread: "random", shadow: true},
	} {
		d.width, d.limit = 1, 100
		was, is := d.before(t, 1), d.sum(t, 1)
		if is.over < 20 || is.share() > is.most() || is.falsely > 0 || is.splitsEach() > was.splitsEach() {
			t.Errorf("%s: %.1f %% of %d passed, at most %v; %d denied falsely; %.3f splits a request, %.3f before",
				&d, is.share(), is.over, is.most(), is.falsely, is.splitsEach(), was.splitsEach())
		}
		if was.share() < is.share() {
			t.Errorf("%s: %.1f %% passed before, %.1f %% now", &d, was.share(), is.share())
		}
	}
}
