package fleet

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
)

// patience bounds every wait for totals to be exact. The time is printed; the
// test judges the rounds.
const patience = 45 * time.Second

// lookEvery is the time between two comparisons: one costs Redis as much as a
// push of every key.
var lookEvery = time.Duration(size(200, 1000)) * time.Millisecond

// check compares Redis and the nodes' lists with the models until they agree,
// while events go on, and returns how long that took.
func (f *fleet) check(after string) time.Duration {
	f.t.Helper()
	return f.until(after, func(end uint32) []string {
		return append(f.compareCounts(end), f.compareLists(end)...)
	})
}

// checkCounts is check without the lists.
func (f *fleet) checkCounts(after string) time.Duration {
	f.t.Helper()
	return f.until(after, f.compareCounts)
}

// until compares at a slot, again and again, until nothing is wrong. Before the
// slot's window begins to leave Redis it takes a newer slot. A comparison that
// begins more rounds later than a fault may take must find nothing wrong.
func (f *fleet) until(after string, look func(end uint32) (wrong []string)) time.Duration {
	f.t.Helper()
	const shift = (aggregator.Kept - window) / 2
	begun, end, before := time.Now(), f.settled(), f.rounds()
	for {
		if newest := f.settled(); newest > end+shift {
			end = newest
		}
		rounds := f.since(before)
		wrong := look(end)
		took := time.Since(begun)
		bound, bounded := most[after]
		bound *= uint64(size(1, 3))
		switch {
		case len(wrong) == 0 && len(f.feeds) > 0:
			healings.add(after, healing{took, rounds})
			return took
		case len(wrong) == 0 && end >= f.slot(f.rested):
			return took // at rest, only when the last events have been looked at
		case bounded && rounds > bound:
			f.t.Fatalf("%d rounds after %s, which heals in %d: %d things are wrong:\n%s",
				rounds, after, bound, len(wrong), strings.Join(wrong[:min(8, len(wrong))], "\n"))
		case took > patience:
			f.t.Fatalf("%s after %s: %d things are wrong:\n%s", patience, after, len(wrong), strings.Join(wrong[:min(8, len(wrong))], "\n"))
		case f.t.Failed():
			f.t.FailNow()
		}
		time.Sleep(lookEvery)
	}
}

// settled returns the newest slot that ended two push intervals ago.
func (f *fleet) settled() uint32 { return f.slot(time.Now().Add(-2*pushEvery)) - 1 }

// compareCounts compares what Redis stores with the models, in the window that
// ends at a slot.
func (f *fleet) compareCounts(end uint32) (wrong []string) {
	keys := f.lookAt()
	stored, err := f.stored(keys, end)
	if err != nil {
		return []string{"reading: " + err.Error()}
	}
	for _, n := range f.nodes {
		counted := n.model.sums(end, window, f.Clients)
		for _, k := range keys {
			got, want := stored[k].parts[n.id], counted[k]
			if got != want && (got > want || want >= f.share()) {
				wrong = append(wrong, fmt.Sprintf("%s of %s: %d counted, %d stored", prefix(k), n.name, want, got))
			}
		}
	}
	return append(wrong, f.compareTotals(stored, end)...)
}

// compareTotals compares the fleet's rings with the sums of the nodes'. The two
// are not read in one moment: what differs may have been pushed in between, and
// is read again, which takes less time for fewer keys.
func (f *fleet) compareTotals(all map[int]stored, end uint32) (wrong []string) {
	for again := 3; ; again-- {
		var differ []int
		wrong = nil
		for k, s := range all {
			if sum := s.sum(); s.total != sum {
				differ = append(differ, k)
				wrong = append(wrong, fmt.Sprintf("%s: the fleet's ring holds %d, the nodes' %d", prefix(k), s.total, sum))
			}
		}
		if len(wrong) == 0 || again == 0 {
			return wrong
		}
		var err error
		if all, err = f.stored(differ, end); err != nil {
			return []string{"reading: " + err.Error()}
		}
	}
}

// lookAt returns the keys to compare: all, or some of very many, since Redis
// must accept pushes at the same time.
func (f *fleet) lookAt() []int {
	const many, hot, drawn = 2000, 500, 1000
	var keys []int
	if f.Clients <= many || len(f.feeds) == 0 {
		for k := range f.Clients {
			keys = append(keys, k)
		}
		return keys
	}
	for k := range hot {
		keys = append(keys, k)
	}
	for range drawn {
		keys = append(keys, hot+f.rng.IntN(f.Clients-hot))
	}
	return keys
}

// share returns the count at which a node reports a key.
func (f *fleet) share() uint32 {
	if !f.Quiet {
		return 1
	}
	return max(1, (f.Limit+2*uint32(f.MaxNodes)-1)/(2*uint32(f.MaxNodes)))
}

// slot is the slot of a time.
func (f *fleet) slot(t time.Time) uint32 { return uint32(t.Unix()) / f.width() }

// compareLists compares the nodes' blocks with the models and each other.
func (f *fleet) compareLists(end uint32) (wrong []string) {
	f.audit.to(f, end)
	first := f.nodes[0].blocked() // before the models are read: they must explain it
	must, fresh := f.audit.over(f, end), f.audit.fresh(f, end)
	for k, ever := range f.audit.ever {
		_, blocked := first[prefix(k)]
		switch {
		case must[k] && !blocked:
			wrong = append(wrong, fmt.Sprintf("%s is over the limit and not blocked", prefix(k)))
		case blocked && !ever && !fresh[k]:
			wrong = append(wrong, fmt.Sprintf("%s is blocked and was never over the limit: %+v", prefix(k), first[prefix(k)]))
		}
	}
	for _, n := range f.nodes[1:] {
		wrong = append(wrong, differences(f.nodes[0].name, first, n.name, n.blocked())...)
	}
	return wrong
}

// differences lists what two nodes do not block alike.
func differences(a string, as map[netip.Prefix]edgeguard.Block, b string, bs map[netip.Prefix]edgeguard.Block) (wrong []string) {
	for p, one := range as {
		other, ok := bs[p]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s is blocked on %s and not on %s", p, a, b))
		} else if d := one.Until.Sub(other.Until); one.Version != other.Version || d > 1100*time.Millisecond || d < -1100*time.Millisecond {
			wrong = append(wrong, fmt.Sprintf("%s is %+v on %s and %+v on %s", p, one, a, other, b))
		}
	}
	for p := range bs {
		if _, ok := as[p]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s is blocked on %s and not on %s", p, b, a))
		}
	}
	return wrong
}

// agree waits until every node reports that it has the fleet's whole list, by
// version and digest, and compares Redis' digest with its records. Nothing may
// change while it waits.
func (f *fleet) agree() {
	f.t.Helper()
	var why string
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if why = f.disagreement(); why == "" {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("after %s the nodes do not agree on the list: %s", patience, why)
		}
	}
}

func (f *fleet) disagreement() string {
	version, digest, records, err := f.list()
	if err != nil {
		return err.Error()
	}
	if sum := digestOf(records); sum != digest {
		return fmt.Sprintf("Redis' digest %s, its records' %s", digest, sum)
	}
	beats, err := f.heartbeats()
	if err != nil {
		return err.Error()
	}
	for _, n := range f.nodes {
		b, ok := beats[n.name+"/"+n.boot]
		if !ok || b.Changes != version || b.Digest != digest {
			return fmt.Sprintf("%s says version %d, digest %s; Redis %d, %s", n.name, b.Changes, b.Digest, version, digest)
		}
	}
	return ""
}

// audit knows which keys were ever over the limit in the fleet.
type audit struct {
	ever []bool // by key
	last uint32 // the newest slot looked at
}

func (a *audit) begin(f *fleet) {
	a.ever = make([]bool, f.Clients)
	a.last = f.slot(time.Now()) - 1
}

// to checks every window that ends up to end.
func (a *audit) to(f *fleet, end uint32) {
	for ; a.last < end; a.last++ {
		for k, total := range f.totals(a.last+1, window) {
			a.ever[k] = a.ever[k] || total > f.Limit
		}
	}
}

// fresh returns which keys went over the limit after end.
func (a *audit) fresh(f *fleet, end uint32) []bool {
	out := make([]bool, f.Clients)
	for slot := end + 1; slot <= f.slot(time.Now()); slot++ {
		for k, total := range f.totals(slot, window) {
			out[k] = out[k] || total > f.Limit
		}
	}
	return out
}

// over returns which keys must be blocked: those over the limit in the window
// that ends at end; for a quiet fleet that is promised for 58 slots.
func (a *audit) over(f *fleet, end uint32) []bool {
	slots := window
	if f.Quiet {
		slots -= 2
	}
	out := make([]bool, f.Clients)
	for k, total := range f.totals(end, slots) {
		out[k] = total > f.Limit
	}
	return out
}

// totals returns the fleet's counts by the models.
func (f *fleet) totals(end uint32, slots int) []uint32 {
	out := make([]uint32, f.Clients)
	for _, n := range f.nodes {
		for k, count := range n.model.sums(end, slots, f.Clients) {
			out[k] += count
		}
	}
	return out
}

// arrivals returns how long after from each node received a block of p, the
// slowest last.
func (f *fleet) arrivals(p netip.Prefix, from time.Time) []time.Duration {
	var out []time.Duration
	for _, n := range f.nodes {
		n.mu.Lock()
		if at, ok := n.changed[p]; ok {
			out = append(out, at.Sub(from))
		}
		n.mu.Unlock()
	}
	slices.Sort(out)
	return out
}

var background = context.Background()
