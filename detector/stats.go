package detector

import (
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
)

// Stats is what a detector and those that it replaced have done so far.
type Stats struct {
	Events   uint64 // events decided; not the Answers
	Passed   uint64
	Shadowed uint64
	Denied   uint64
	Spared   uint64 // of the passed: allowed or protected addresses
	Late     uint64 // not counted by a meter: older than its window
	Early    uint64 // from after now, counted at now
	// Unknown are answers with which clients are turned away that came too late to tell whether
	// this node had refused them: they were counted.
	Unknown uint64
	// Answers are answers to requests that another source reports: no rule of answers missed
	// them, and no other figure here has them, so that one request is one.
	Answers uint64
}

// statistics are those of a detector and of the ones before it. All decisions
// share the counters: dividing them by address cost more than it gained (ADR 18).
type statistics struct {
	counters
	crowds  crowds
	refused atomic.Uint64 // requests for which rules were asked, of which one in sixteen is sampled
}

// counters is Stats as it grows.
type counters struct {
	actions             [edgeguard.ActionBlock + 1]atomic.Uint64
	spared, late, early atomic.Uint64
	unknown, answers    atomic.Uint64
}

// notes are the statistics of some decisions of one goroutine.
type notes struct {
	actions             [edgeguard.ActionBlock + 1]uint64
	spared, late, early uint64
	unknown, answers    uint64
	// seen counts decisions for sampling; it is not cleared.
	seen uint64
}

// sample adds one in eight requests to the sample.
func (n *notes) sample(d *Detector, event *edgeguard.Event, at moment, spared bool) {
	if n.seen++; Sampled(n.seen) && isRequest(event) && !d.config.Past {
		d.statistics.crowds.NoteRequests(at.nowSec, event.Addr, spared, 1)
	}
}

// addNotes adds notes and clears them.
func (s *statistics) addNotes(n *notes) {
	for i, count := range n.actions {
		if count > 0 {
			s.actions[i].Add(count)
		}
	}
	if n.spared+n.late+n.early+n.unknown+n.answers > 0 {
		s.unknown.Add(n.unknown)
		s.answers.Add(n.answers)
		s.spared.Add(n.spared)
		s.late.Add(n.late)
		s.early.Add(n.early)
	}
	*n = notes{seen: n.seen}
}

// noteOne counts a decision that was made alone.
func (s *statistics) noteOne(c *decision, action edgeguard.Action) {
	of, answer := &s.actions[action], c.d.IsAnswer(c.event)
	if answer {
		of = &s.answers
	}
	seen := of.Add(1)
	if c.late {
		s.late.Add(1)
	}
	if c.early {
		s.early.Add(1)
	}
	if c.unknown {
		s.unknown.Add(1)
	}
	spared := c.isExempt()
	if spared && !answer {
		s.spared.Add(1)
	}
	if Sampled(seen) && isRequest(c.event) {
		s.crowds.NoteRequests(c.nowSec, c.event.Addr, spared, 1)
	}
}

// Stats returns the statistics. Under concurrent use its figures may differ by a
// few events from each other.
func (d *Detector) Stats() Stats {
	s := &d.statistics.counters
	out := Stats{
		Passed:   s.actions[edgeguard.ActionPass].Load(),
		Shadowed: s.actions[edgeguard.ActionShadow].Load(),
		Denied:   s.actions[edgeguard.ActionDeny].Load(),
		Spared:   s.spared.Load(),
		Late:     s.late.Load(),
		Early:    s.early.Load(),
		Unknown:  s.unknown.Load(),
		Answers:  s.answers.Load(),
	}
	out.Events = out.Passed + out.Shadowed + out.Denied
	return out
}

// IsAnswer reports whether an event is the answer to a request that is an event of its own. What
// was refused is counted by requests.
func (d *Detector) IsAnswer(ev *edgeguard.Event) bool {
	return d.config.Requests && ev.Kind == edgeguard.KindResponse
}

// noteVerdict counts the verdict on one event of a batch.
func (n *notes) noteVerdict(answer, spared bool, action edgeguard.Action) {
	if answer {
		n.answers++
		return
	}
	n.actions[action]++
	if spared {
		n.spared++
	}
}

// isRequest reports whether the event is one of those that a crowd is made of.
func isRequest(ev *edgeguard.Event) bool {
	return ev.Kind&(edgeguard.KindRequest|edgeguard.KindResponse) != 0
}

// Dominant returns the address that sent more than half of the requests of the
// minute before now; see [crowds.Dominant].
func (d *Detector) Dominant(now time.Time) (addr netip.Addr, share float64, ok bool) {
	return d.statistics.crowds.Dominant(seconds(now))
}

// Sample returns who sent the requests of the last five minutes before now. A
// reload does not change it.
func (d *Detector) Sample(now time.Time) *Sample {
	return d.statistics.crowds.Sample(seconds(now))
}

// LongSample looks further back than Sample if few requests came in these minutes: see
// [crowds.LongSample].
func (d *Detector) LongSample(now time.Time) *Sample {
	return d.statistics.crowds.LongSample(seconds(now))
}
