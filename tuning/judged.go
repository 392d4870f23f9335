package tuning

import (
	"cmp"
	"fmt"
	"math"

	"edgeguard"
	"edgeguard/rules"
)

// Looks is what a key looks like by what is known of it beside its counts.
type Looks uint8

// What a key may look like.
const (
	Unknown Looks = iota
	Benign        // evidently a customer, a crawler or an operator
	Hostile       // evidently an attacker
)

// Basis is what a proposal goes by beside the counts.
type Basis struct {
	// Threshold is the rule's own. No proposal is worse.
	Threshold uint32
	// Looks says what a key looks like.
	Looks func(edgeguard.Key) Looks
	// Known is how many addresses the log has, whatever the rule counts.
	Known uint64
	// Normal is the highest count on a normal day; 0 if there is no log of one.
	Normal uint32
	// People says how high people count by the rule.
	People rules.People
	// Parts is how many of those above a limit must be evidently hostile for each that
	// nothing is known of; 0 means 3.
	Parts int
}

// Caught is how many keys over a limit look like what.
type Caught struct{ Hostile, Benign, Unknown int }

// What makes a proposal.
const (
	// leastLimit is the lowest limit that is proposed, in units. A log with few people cannot
	// show what an office of fifty behind one address does.
	leastLimit = 10
	// hostileParts is the default of Basis.Parts.
	hostileParts = 3
	// leastAir is how much higher than the room that customers need, in tenths, those
	// above a limit must be at least.
	leastAir = 11
	// farAbove is how many times higher than the rest keys must be that nothing is
	// known of, to be called abusers for their count alone.
	farAbove = 3
)

// limitWithRoom is the lowest limit that leaves a customer room who once counted n: three
// standard deviations of a random (Poisson) count of units.
func (t *Tally) limitWithRoom(n uint32) uint32 {
	units := float64(n) / float64(t.Unit.Each)
	return t.Unit.Each * max(leastLimit, uint32(min(math.Ceil(units+3*math.Sqrt(units)), math.MaxUint32/float64(t.Unit.Each))))
}

// spareRoom is the lowest limit that leaves people room: they use at most two thirds of it,
// as of the limits that ship.
func spareRoom(people rules.People) uint32 {
	return uint32(min((3*uint64(people.Count)+1)/2, math.MaxUint32))
}

// SuggestBy proposes a threshold by what the highest keys look like: in the lowest
// gap above all that are evidently benign, where nearly all above are evidently
// hostile. It compares the proposal with the rule as it is, and proposes only what
// catches more that are hostile and no more that are benign, or fewer that are benign
// and no fewer that are hostile.
func (t *Tally) SuggestBy(limitOf LimitOf, b Basis) Suggestion {
	if s, ok := t.tooLittle(b.Known); ok {
		return s
	}
	j := t.judge(b)
	now := t.Outcome(b.Threshold, limitOf)
	if s, ok := t.propose(j, now, limitOf); ok {
		return s
	}
	if b.People.Count > 0 {
		closer := *j
		closer.people = rules.People{}
		if s, ok := t.propose(&closer, now, limitOf); ok && s.Limit < now.Limit {
			caught := j.above(now.Limit)
			return Suggestion{Outcome: now, Keep: true, Above: caught, Brief: t.spareBriefly(b.People),
				Reason: fmt.Sprintf("a limit of %s would catch %d more that look hostile, but %s", t.Unit.Allowed(s.Limit), s.Above.Hostile-caught.Hostile, t.spare(b.People))}
		}
	}
	return t.keep(j, now, limitOf)
}

// propose returns a threshold that is better than the rule as it is; ok is false if there
// is none.
func (t *Tally) propose(j *judged, now Outcome, limitOf LimitOf) (s Suggestion, ok bool) {
	caught := j.above(now.Limit)
	for _, gap := range j.gaps() {
		threshold, ok := t.inside(max(gap.Low, j.room()), gap.High, limitOf)
		if !ok {
			continue
		}
		o := t.Outcome(threshold, limitOf)
		if s := (Suggestion{Outcome: o, Gap: gap.Gap, Above: j.above(o.Limit)}); s.Above.better(caught, gap.far) {
			t.reason(&s, j)
			return s, true
		}
	}
	return Suggestion{}, false
}

// judged is the highest keys with what they look like.
type judged struct {
	peaks  []Peak
	looks  []Looks
	benign uint32 // the highest peak of one that is evidently benign
	normal uint32
	people rules.People
	parts  int
	tally  *Tally
}

func (t *Tally) judge(b Basis) *judged {
	j := &judged{tally: t, peaks: t.Top.Sorted(), normal: b.Normal, people: b.People, parts: cmp.Or(b.Parts, hostileParts)}
	for _, p := range j.peaks {
		looks := b.Looks(p.Key)
		if looks == Benign {
			j.benign = max(j.benign, p.Peak)
		}
		j.looks = append(j.looks, looks)
	}
	return j
}

// room is the lowest limit that leaves customers room.
func (j *judged) room() uint32 {
	return max(j.tally.limitWithRoom(max(j.benign, j.normal)), spareRoom(j.people))
}

// above is what the keys over a limit look like.
func (j *judged) above(limit uint32) (c Caught) {
	for i, p := range j.peaks {
		if p.Peak <= limit {
			break
		}
		c.add(j.looks[i])
	}
	return c
}

// Caught returns what the highest keys over a limit look like.
func (t *Tally) Caught(limit uint32, looks func(edgeguard.Key) Looks) Caught {
	return t.judge(Basis{Looks: looks}).above(limit)
}

func (c *Caught) add(looks Looks) {
	switch looks {
	case Hostile:
		c.Hostile++
	case Benign:
		c.Benign++
	default:
		c.Unknown++
	}
}

// better reports whether a limit catches more of those it should, and nothing speaks
// against it. far says that all it catches are far above the rest.
func (c Caught) better(than Caught, far bool) bool {
	more, unknown := c.Hostile-than.Hostile, c.Unknown-than.Unknown
	switch {
	case c.Benign > than.Benign || more < 0:
		return false
	case more > 0:
		return far || unknown <= more
	}
	return c.Benign < than.Benign && unknown <= 0
}

// judgedGap is a gap in which a limit may lie; far says that it is so wide that half of
// what is above needs no evidence.
type judgedGap struct {
	Gap
	far bool
}

// far reports whether keys are far above all others.
func (j *judged) far(gap Gap) bool {
	return uint64(gap.High) >= farAbove*uint64(max(gap.Low, j.room())) && len(j.peaks)-gap.Keys >= minTail
}

// clear reports whether those above a gap of which nothing is known count clearly more
// than the others of which nothing is known: a limit among many alike is no limit.
func (j *judged) clear(gap Gap) bool {
	lowest := uint32(math.MaxUint32)
	for i, p := range j.peaks {
		switch {
		case j.looks[i] != Unknown:
		case p.Peak >= gap.High:
			lowest = p.Peak
		default:
			return float64(lowest) >= minRatio*float64(p.Peak)
		}
	}
	return true
}

// gaps returns the gaps above all that are benign, in which a limit may lie: the
// lowest first.
func (j *judged) gaps() (gaps []judgedGap) {
	var c Caught
	least := j.room()
	for i, p := range j.peaks {
		c.add(j.looks[i])
		if p.Peak <= least || c.Benign > 0 {
			break
		}
		gap := Gap{High: p.Peak, Keys: i + 1}
		if i+1 < len(j.peaks) {
			gap.Low = j.peaks[i+1].Peak
		}
		if gap.High == gap.Low || 10*uint64(gap.High) < leastAir*uint64(least) || gap.Low > edgeguard.MaxLimit {
			continue
		}
		far := j.far(gap) && j.parts <= hostileParts && c.Unknown <= c.Hostile
		if c.Hostile > 0 && (far || c.Unknown*j.parts <= c.Hostile && j.clear(gap)) {
			gaps = append([]judgedGap{{gap, far}}, gaps...)
		}
	}
	return gaps
}

// reason says why a proposal is one.
func (t *Tally) reason(s *Suggestion, j *judged) {
	var who string
	switch c := s.Above; {
	case c.Unknown > 0:
		who = fmt.Sprintf("%d look hostile and %d unknown", c.Hostile, c.Unknown)
	case c.Hostile == 1:
		who = "it looks hostile"
	default:
		who = "all look hostile"
	}
	s.Brief = fmt.Sprintf("%d hostile, %d unknown; %s", s.Above.Hostile, s.Above.Unknown, j.highest())
	s.Reason = fmt.Sprintf("the gap between %s and %s separates %s: %s; %s; %s", t.Unit.Amount(s.Gap.Low), t.Unit.Of(s.Gap.High), t.count(uint64(s.Gap.Keys)), who, j.customers(), t.effect(s.Outcome))
}

// highest says briefly how high they count who must be spared.
func (j *judged) highest() string {
	most := max(j.people.Count, j.normal, j.benign)
	amount := j.tally.Unit.Amount(most)
	switch most {
	case 0:
		return "customers 0"
	case j.people.Count:
		return fmt.Sprintf("people %s (%s)", amount, j.people.Scene)
	case j.normal:
		return "normal day " + amount
	}
	return "customers " + amount
}

// customers says how high those that are benign count.
func (j *judged) customers() string {
	says := "none that looks like a customer was counted"
	switch {
	case j.normal > 0 && j.normal >= j.benign:
		says = "on the normal day the highest counts " + j.tally.Unit.Amount(j.normal)
	case j.benign > 0:
		says = "the highest that looks like a customer or a crawler counts " + j.tally.Unit.Amount(j.benign)
	}
	if j.people.Count > 0 {
		says += fmt.Sprintf(", and people count up to %s (%s)", j.tally.Unit.Amount(j.people.Count), j.people.Scene)
	}
	return says
}

// keep says why the rule is better as it is.
func (t *Tally) keep(j *judged, now Outcome, limitOf LimitOf) Suggestion {
	caught := j.above(now.Limit)
	s := Suggestion{Outcome: now, Keep: true, Above: caught}
	switch {
	case caught.Benign > 0 && caught.Hostile == 0:
		s.Outcome = t.Outcome(t.atLeast(j.room(), limitOf), limitOf)
		s.Keep, s.Above = false, j.above(s.Limit)
		s.Brief = fmt.Sprintf("no abuser is visible, and %d customers are refused now", caught.Benign)
		s.Reason = fmt.Sprintf("no abuser is visible, and the rule as it is refuses %s that look like customers; %s", t.count(uint64(caught.Benign)), t.effect(s.Outcome))
	case caught.Benign > 0:
		s.Brief = "customers count as much as attackers"
		s.Reason = fmt.Sprintf("the rule refuses %d that look hostile and %d that look like customers, and no threshold separates them: a narrower rule may; %s",
			caught.Hostile, caught.Benign, t.effect(now))
	case caught.Hostile > 0:
		s.Brief = fmt.Sprintf("catches %d hostile, no customer", caught.Hostile)
		s.Reason = fmt.Sprintf("no threshold does better than the rule as it is: %d that look hostile are over it and none that looks like a customer; %s", caught.Hostile, t.effect(now))
	default:
		s = t.noAbuser(limitOf)
		if h := j.hostile(); h > 0 {
			s.Brief = fmt.Sprintf("%d hostile count no more than customers", h)
			s.Reason = fmt.Sprintf("no threshold separates %s that look hostile from the rest; %s: a narrower rule may find them", t.count(uint64(h)), j.customers())
		} else if gap, ok := j.outliers(); ok {
			s.Brief = fmt.Sprintf("nothing is known of the %d highest", gap.Keys)
			s.Reason = fmt.Sprintf("nothing says what %s above %s are, and no other counts a third of that: a flood, or many people behind one address; look at them before you choose a threshold",
				t.count(uint64(gap.Keys)), t.Unit.Amount(gap.Low))
		}
	}
	return s
}

// outliers returns the gap below keys that nothing is known of and that are far above
// all others.
func (j *judged) outliers() (Gap, bool) {
	for i := range j.peaks[:max(0, len(j.peaks)-minTail)] {
		gap := Gap{Low: j.peaks[i+1].Peak, High: j.peaks[i].Peak, Keys: i + 1}
		if j.looks[i] != Unknown {
			break
		}
		if j.far(gap) {
			return gap, true
		}
	}
	return Gap{}, false
}

// hostile is how many keys look hostile.
func (j *judged) hostile() (n int) {
	for _, looks := range j.looks {
		if looks == Hostile {
			n++
		}
	}
	return n
}
