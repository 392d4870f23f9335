package pipeline

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
)

const (
	// LeastTakes is how long an address is blocked before what is served to it counts: a
	// line is written when the answer ends, and one that had begun before the block ends
	// as it would have.
	LeastTakes = 20 * time.Second
	// answersFor is how far back answers to blocked addresses are added up, and
	// answerSlot the steps in which they are forgotten.
	answersFor  = 5 * time.Minute
	answerSlot  = 10 * time.Second
	answerSlots = int(answersFor / answerSlot)
)

// Answers are what logs say became of the requests that verdicts refuse: nothing else
// shows that a block is in force in a proxy. It is safe for concurrent use.
type Answers struct {
	// Takes is how long the slowest way takes until a block is in force, in
	// nanoseconds: what was served sooner says nothing of a block.
	Takes atomic.Int64

	mu sync.Mutex // guards of
	of map[string]*answers
}

// answers are those of one log.
type answers struct {
	mu     sync.Mutex // guards all below
	became Treated
	first  int64 // the number of the newest slot
	slots  [answerSlots]struct{ turnedAway, served uint32 }
	addr   netip.Addr // of the last that was served, and how
	status uint16
}

// Treated counts requests by what became of them: a server turned them away, or served them.
type Treated struct{ TurnedAway, Served uint64 }

// Recent is what a log says of the requests of addresses that were blocked for long
// enough, in the last five minutes.
type Recent struct {
	Treated
	// Addr is the last that was served, with Status.
	Addr   netip.Addr
	Status uint16
}

// source returns the answers of a log.
func (a *Answers) source(name string) *answers {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = make(map[string]*answers)
	}
	if a.of[name] == nil {
		a.of[name] = new(answers)
	}
	return a.of[name]
}

// Of returns what became of all requests of a log that verdicts refused.
func (a *Answers) Of(source string) Treated {
	s := a.source(source)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.became
}

// Recent returns what the log says of the last five minutes.
func (a *Answers) Recent(source string, now time.Time) (r Recent) {
	s := a.source(source)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.move(now)
	for i := range s.slots {
		r.TurnedAway += uint64(s.slots[i].turnedAway)
		r.Served += uint64(s.slots[i].served)
	}
	r.Addr, r.Status = s.addr, s.status
	return r
}

// move empties the slots that have left the window. The caller holds the lock.
func (s *answers) move(now time.Time) {
	at := now.UnixNano() / int64(answerSlot)
	for range min(at-s.first, int64(answerSlots)) {
		s.first++
		s.slots[s.first%int64(answerSlots)] = struct{ turnedAway, served uint32 }{}
	}
	s.first = max(s.first, at)
}

// note counts one answer; ripe says that the block was in force for long enough.
func (s *answers) note(now time.Time, ev *edgeguard.Event, answer edgeguard.Treatment, ripe bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.move(now)
	slot := &s.slots[s.first%int64(answerSlots)]
	switch {
	case answer == edgeguard.TurnedAway:
		s.became.TurnedAway++
		if ripe {
			slot.turnedAway++
		}
	default:
		s.became.Served++
		if ripe {
			slot.served++
			s.addr, s.status = ev.Addr, ev.Status
		}
	}
}

// answered notes what a log says of events whose verdict is to refuse them. Others cost a
// comparison.
func (p *Pipeline) answered(g *Generation, now time.Time, to *answers, events []edgeguard.Event, verdicts []edgeguard.Verdict, also []uint16) {
	for i := range verdicts {
		if verdicts[i].Action != edgeguard.ActionDeny {
			continue
		}
		ev := &events[i]
		answer := treatment(ev, also)
		if answer == edgeguard.TreatmentUnknown {
			continue
		}
		hit := g.Detector.RefusingHit(now, ev.Addr) // nil where a rule refuses this event alone
		ripe := false
		if hit != nil {
			// A line may be read long after it was written, or be ahead of the clock.
			at, since := earlier(ev.Time, now), later(hit.Block().Since, later(hit.FirstInForce(), g.enforced))
			switch {
			case answer == edgeguard.TurnedAway:
				hit.TurnedAway()
			case !at.After(since):
				continue // served before the block: also the request whose answer made it
			default:
				hit.Served()
			}
			ripe = at.Sub(since) > time.Duration(p.Answers.Takes.Load())
		}
		to.note(now, ev, answer, ripe)
	}
}

// treatment returns what a line's status says of how its request was treated.
func treatment(ev *edgeguard.Event, also []uint16) edgeguard.Treatment {
	if ev.Known&edgeguard.FieldStatus == 0 || ev.Kind&ev.Verified&(edgeguard.KindRequest|edgeguard.KindResponse) == 0 {
		return edgeguard.TreatmentUnknown // nothing, or a stranger may have written it
	}
	return edgeguard.TreatmentOf(ev.Status, also)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
