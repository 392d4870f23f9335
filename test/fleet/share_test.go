package fleet

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/realdata"
	"edgeguard/internal/redistwin"
	"edgeguard/logline"
	"edgeguard/sensor/accesslog"
	"edgeguard/shard"
)

// BenchmarkQuiet replays a real log, its lines spread at random over ten nodes,
// by its own time, and counts how many of the clients were reported to the
// fleet.
func BenchmarkQuiet(b *testing.B) {
	events := readLog(b, realdata.Path(b, "weblog-wordpress-2016", "access.log.gz"))
	for range b.N {
		v := newVirtual(10, 200, newRand(b))
		for _, e := range events {
			v.see(e.Time, e.Addr)
		}
		v.round(v.now.Add(time.Second))
		truth := v.truth()
		missed, wrong := 0, 0
		for addr, over := range truth {
			if over && !v.found[addr] {
				missed++
			}
		}
		for addr := range v.found {
			if !truth[addr] {
				wrong++
			}
		}
		fmt.Printf("%s: %d events of %d clients, %d over the limit, %d found; %d clients told about; %d of %d (client, node); %d of %d (client, node, round)\n",
			b.Name(), len(events), len(v.active), len(v.found)-wrong+missed, len(v.found), len(v.told), len(v.toldBy), len(v.activeAt), v.pushes, v.changes)
		figure(b, "clients told about", 100*float64(len(v.told))/float64(len(v.active)), "%-told", 5)
		figure(b, "offenders missed", float64(missed), "missed", 0)
		figure(b, "others found", float64(wrong), "wrong", 0)
	}
}

func readLog(b *testing.B, file string) []edgeguard.Event {
	format, err := logline.ParseFormat("combined")
	if err != nil {
		b.Fatal(err)
	}
	r, err := accesslog.Open(file, format, accesslog.Options{Window: 5 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var all []edgeguard.Event
	for {
		some, err := r.Next()
		for _, e := range some {
			all = append(all, edgeguard.Event{Time: e.Time, Addr: e.Addr})
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// virtual is a quiet fleet on the library's reference, by the events' time: a
// round of pushes every half second in which there is something to push.
type virtual struct {
	limit uint32
	rng   *rand.Rand
	redis *redistwin.Redis
	nodes []*virtualNode
	now   time.Time // the newest event's
	next  time.Time // the next round

	counts   map[netip.Addr]map[uint32]uint32 // by slot: the truth
	active   map[netip.Addr]bool
	activeAt map[clientAt]bool
	found    map[netip.Addr]bool
	told     map[netip.Addr]bool
	toldBy   map[clientAt]bool
	fresh    map[clientAt]bool // changed since the last round
	changes  int
	pushes   int
}

type clientAt struct {
	addr netip.Addr
	node int
}

type virtualNode struct {
	id     [8]byte
	table  *shard.Table
	counts *aggregator.Totals
}

const (
	virtualWidth = 5
	virtualMeter = 1
)

func newVirtual(nodes int, limit uint32, rng *rand.Rand) *virtual {
	v := &virtual{
		limit: limit, rng: rng, redis: redistwin.New(),
		counts: map[netip.Addr]map[uint32]uint32{}, active: map[netip.Addr]bool{}, activeAt: map[clientAt]bool{},
		found: map[netip.Addr]bool{}, told: map[netip.Addr]bool{}, toldBy: map[clientAt]bool{}, fresh: map[clientAt]bool{},
	}
	if _, err := v.redis.Call(time.Time{}, "edgeguard1_replay_clock", []string{"c"}, []string{"claimed"}); err != nil {
		panic(err)
	}
	for i := range nodes {
		table := shard.New(shard.NewMemory(32<<20), shard.Config{})
		v.nodes = append(v.nodes, &virtualNode{
			id: aggregator.NodeID(fmt.Sprint(i), ""), table: table,
			counts: aggregator.New(aggregator.Config{
				Meters: []aggregator.Meter{{Fingerprint: virtualMeter, Width: virtualWidth, Limit: limit, Table: table}},
				Quiet:  true, MaxNodes: nodes, Nodes: nodes,
			}),
		})
	}
	return v
}

// see counts an event on a random node.
func (v *virtual) see(at time.Time, addr netip.Addr) {
	if at.After(v.now) {
		v.now = at
		if v.now.After(v.next) {
			v.round(v.next)
			v.next = v.now.Truncate(pushEvery).Add(pushEvery)
		}
	}
	i := v.rng.IntN(len(v.nodes))
	n := v.nodes[i]
	op := shard.Op{Addr: addr, Now: uint32(v.now.Unix() / virtualWidth), Slot: uint32(at.Unix() / virtualWidth), Cost: 1}
	count := n.table.Add(&op)
	if count.Late {
		return
	}
	rest := n.counts.Count(0, &op, count.Count)
	if count.Count+rest > v.limit {
		v.found[addr] = true
	}
	if v.counts[addr] == nil {
		v.counts[addr] = map[uint32]uint32{}
	}
	v.counts[addr][op.Slot]++
	v.active[addr], v.activeAt[clientAt{addr, i}] = true, true
	if !v.fresh[clientAt{addr, i}] {
		v.fresh[clientAt{addr, i}] = true
		v.changes++
	}
}

// round pushes what every node has, and does what follows from the answers.
func (v *virtual) round(now time.Time) {
	clear(v.fresh)
	for i, n := range v.nodes {
		n.counts.Sweep(now)
		for pushes := range n.counts.Collect(now, 1000) {
			for _, p := range pushes {
				v.push(i, &p, now)
			}
		}
	}
}

func (v *virtual) push(i int, p *aggregator.Push, now time.Time) {
	n := v.nodes[i]
	v.pushes++
	v.told[p.Key.Prefix.Addr()] = true
	v.toldBy[clientAt{p.Key.Prefix.Addr(), i}] = true
	header := aggregator.NewHeader(n.id, now, virtualWidth).Append(nil)
	answer, err := v.redis.Call(now, "edgeguard1_push", []string{"c", string(p.Key.Append(nil))}, []string{string(header), string(p.AppendBody(nil))})
	if err != nil {
		panic(err)
	}
	answers, err := aggregator.DecodeAnswers(answer.(string), 1)
	if err != nil {
		panic(err)
	}
	out := n.counts.Answered(p, answers[0], now)
	if out.Over {
		v.found[p.Key.Prefix.Addr()] = true
	}
	if out.Again {
		if full, ok := n.counts.FullPush(p.Key, now); ok {
			v.push(i, &full, now)
		}
	}
	if out.Watch {
		for j, other := range v.nodes {
			if heard, ok := other.counts.Watch(p.Key, now); ok && j != i {
				v.push(j, &heard, now)
			}
		}
	}
}

// truth returns which of the active clients were over the limit in any window.
func (v *virtual) truth() map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for addr, slots := range v.counts {
		for end := range slots {
			var sum uint32
			for slot := end - window + 1; slot != end+1; slot++ {
				sum += slots[slot]
			}
			if sum > v.limit {
				out[addr] = true
			}
		}
	}
	return out
}
