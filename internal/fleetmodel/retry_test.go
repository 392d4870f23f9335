package fleetmodel

import (
	"testing"
	"time"

	"edgeguard/internal/fulltest"
	"edgeguard/ring"
	"edgeguard/shard"
)

// retries compares what a refusal says of when such a request would pass with the log of all
// requests. For that nobody sends anything for four seconds, so that all counts are pushed, and
// then the client asks one node twice: by the second time, that has the answer to the first.
type retries struct {
	runs bool  // nobody pauses: refusals of the running fleet are compared, one in ten
	at   *Node // that is asked; nil: requests go on as they do
	left int   // how often

	asked, exact, early, late int // late in slots
	by                        int // how many slots it was early
	wrong                     int // earlier than by what others have told
	held                      int // the node itself did not let through at that time
	wasExact, wasEarly        int // with the others' part taken to stay
	wasLate                   int
}

// pause stops the requests now and then, and asks a node instead.
func (r *retries) pause(d *denial) {
	f := d.fleet
	if r.runs {
		return
	}
	if r.at == nil && d.rnd.IntN(1500) == 0 {
		r.at, r.left, d.next = d.node(), 2, f.Now.Add(4*time.Second)
	}
	for ; r.at != nil && !d.next.After(f.Now); d.next = d.next.Add(2 * time.Second) {
		rest, refused := d.send(r.at)
		if r.left--; r.left > 0 {
			continue
		}
		if refused {
			r.compare(d, r.at, rest)
		}
		r.at = nil
	}
}

// truth is after how many slots from a slot on one more request would not be over a limit.
func (d *denial) truth(slot, limit uint32) (slots uint32) {
	for slots = 1; slots < ring.Slots; slots++ {
		if d.sumAt(slot+slots) < limit {
			break
		}
	}
	return slots
}

func (r *retries) compare(d *denial, n *Node, rest uint32) {
	now := slot(&d.fleet.Meters[0], d.fleet.Local(n))
	op := shard.Op{Addr: denied, Slot: now, Now: now, Cost: 1}
	least, most := n.Totals.Until(0, &op, d.limit-1)
	truth := int(d.truth(now, d.limit))
	add := func(by int, exact, early, late *int) {
		switch {
		case by == 0:
			*exact++
		case by < 0:
			*early++
		default:
			*late += by
		}
	}
	r.asked++
	// Other nodes may keep a tenth of the limit to themselves, and their slots begin earlier or later.
	if most+1 < d.truth(now, d.limit+d.limit/10) {
		r.wrong++
	}
	r.by += max(truth-int(most), 0)
	add(int(most)-truth, &r.exact, &r.early, &r.late)
	add(int(n.Tables[0].Until(denied, "", now, d.limit-min(d.limit, rest+1)))-truth, &r.wasExact, &r.wasEarly, &r.wasLate)
	op.Now += most
	own := n.Tables[0].Count(denied, "", op.Now)
	if least > most || own+n.Totals.RestOfFleet(0, &op, own) >= d.limit {
		r.held++
	}
}

// TestRetry: who comes back when a refusal says so is not over the limit, as far as his node
// was told of the others, and does not wait much longer than he has to; where there are no
// others, not at all.
func TestRetry(t *testing.T) {
	fulltest.Only(t)
	for _, d := range []denial{
		{nodes: 1, times: 3, limit: 100}, {nodes: 1, times: 1.2, limit: 20},
		{nodes: 2, times: 3, limit: 20, spread: "in turn"}, {nodes: 2, times: 10, limit: 100, spread: "random"},
		{nodes: 8, times: 1.2, limit: 100, spread: "random"}, {nodes: 8, times: 3, limit: 100, spread: "in turn"},
		{nodes: 8, times: 10, limit: 100, spread: "sticky"},
	} {
		d.width = 5
		var r retries
		for seed := range uint64(5) {
			d.retries, r.at = &r, nil
			d.run(t, seed+1, 3)
		}
		t.Logf("%s: of %d refusals %d exact, %d early, %.1f slots late; before %d, %d, %.1f", &d, r.asked, r.exact, r.early,
			float64(r.late)/float64(r.asked), r.wasExact, r.wasEarly, float64(r.wasLate)/float64(r.asked))
		if r.asked < 20 || r.held+r.wrong > 0 || d.nodes == 1 && r.exact < r.asked || r.late > 4*r.asked {
			t.Errorf("%s: %+v", &d, r)
		}
	}
}

// TestRetryRuns: what refusals say while all nodes go on counting, of what they have not pushed
// yet: it is early by that.
func TestRetryRuns(t *testing.T) {
	fulltest.Only(t)
	for _, d := range []denial{
		{nodes: 1, times: 3, limit: 100}, {nodes: 2, times: 10, limit: 100, spread: "random"},
		{nodes: 8, times: 1.2, limit: 100, spread: "random"}, {nodes: 8, times: 3, limit: 100, spread: "in turn"},
		{nodes: 8, times: 10, limit: 100, spread: "sticky"},
	} {
		d.width = 5
		r := retries{runs: true}
		for seed := range uint64(3) {
			d.retries = &r
			d.run(t, seed+1, 3)
		}
		asked := float64(max(r.asked, 1))
		t.Logf("%s: of %d refusals %.0f %% are early, by %.1f slots in the mean; %d exact, %.1f slots late", &d, r.asked,
			100*float64(r.early)/asked, float64(r.by)/float64(max(r.early, 1)), r.exact, float64(r.late)/asked)
		if r.asked < 10 || r.by > 5*r.early || d.nodes == 1 && r.exact < r.asked || r.held > 0 {
			t.Errorf("%s: %+v", &d, r)
		}
	}
}
