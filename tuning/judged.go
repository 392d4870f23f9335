package tuning

import (
	"cmp"
	"fmt"
	"math"

	"edgeguard"
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
	// Parts is how many of those above a limit must be evidently hostile for each that
	// nothing is known of; 0 means 3.
	Parts int
}

// Caught is how many keys over a limit look like what.
type Caught struct{ Hostile, Benign, Unknown int }

// What makes a proposal.
const (
	// leastLimit is the lowest limit that is proposed. A log with few people cannot
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
	// attackEvents is how many events, and attackLimit what limit, a log without a
	// customer must have before a threshold follows from it.
	attackEvents, attackLimit = 1000, 100
)

// roomAbove is the lowest limit that leaves a customer room who once counted n: three
// standard deviations of a random (Poisson) count.
func roomAbove(n uint32) uint32 {
	return max(leastLimit, uint32(min(math.Ceil(float64(n)+3*math.Sqrt(float64(n))), math.MaxUint32)))
}

// SuggestBy proposes a threshold by what the highest keys look like: in the lowest
// gap above all that are evidently benign, where nearly all above are evidently
// hostile. It compares the proposal with the rule as it is, and proposes only what
// catches more that are hostile and no more that are benign, or fewer that are benign
// and no fewer that are hostile.
func (t *Tally) SuggestBy(limitOf LimitOf, b Basis) Suggestion {
	j := t.judge(b)
	attack := j.onlyHostile() && t.Events.Total() >= attackEvents
	if s, ok := t.tooLittle(b.Known); ok && !(attack && t.Peaks.Total() > 0) {
		return s
	}
	now := t.Outcome(b.Threshold, limitOf)
	caught := j.above(now.Limit)
	if attack {
		return t.mostlyAttack(j, now, caught, limitOf)
	}
	for _, gap := range j.gaps() {
		threshold, ok := t.inside(max(gap.Low, j.room()), gap.High, limitOf)
		if !ok {
			continue
		}
		o := t.Outcome(threshold, limitOf)
		if s := (Suggestion{Outcome: o, Gap: gap.Gap, Above: j.above(o.Limit)}); s.Above.better(caught, gap.far) {
			s.Reason = t.reason(s, j)
			return s
		}
	}
	return t.keep(j, now, caught, limitOf)
}

// judged is the highest keys with what they look like.
type judged struct {
	peaks  []Peak
	looks  []Looks
	benign uint32 // the highest peak of one that is evidently benign
	normal uint32
	parts  int
}

func (t *Tally) judge(b Basis) *judged {
	j := &judged{peaks: t.Top.Sorted(), normal: b.Normal, parts: cmp.Or(b.Parts, hostileParts)}
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
func (j *judged) room() uint32 { return roomAbove(max(j.benign, j.normal)) }

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

// onlyHostile reports whether every key is evidently hostile.
func (j *judged) onlyHostile() bool {
	for _, looks := range j.looks {
		if looks != Hostile {
			return false
		}
	}
	return j.normal == 0 && len(j.looks) > 0
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
func (t *Tally) reason(s Suggestion, j *judged) string {
	var who string
	switch c := s.Above; {
	case c.Unknown > 0:
		who = fmt.Sprintf("%d look hostile and %d unknown", c.Hostile, c.Unknown)
	case c.Hostile == 1:
		who = "it looks hostile"
	default:
		who = "all look hostile"
	}
	return fmt.Sprintf("the gap between %d and %d separates %s: %s; %s; %s", s.Gap.Low, s.Gap.High, t.count(uint64(s.Gap.Keys)), who, j.customers(t), t.effect(s.Outcome))
}

// customers says how high those that are benign count.
func (j *judged) customers(t *Tally) string {
	switch {
	case j.normal > 0 && j.normal >= j.benign:
		return fmt.Sprintf("on the normal day the highest counts %d", j.normal)
	case j.benign > 0:
		return fmt.Sprintf("the highest that looks like a customer or a crawler counts %d", j.benign)
	}
	return "none that looks like a customer was counted"
}

// mostlyAttack proposes a threshold where no customer is there to compare with.
func (t *Tally) mostlyAttack(j *judged, now Outcome, caught Caught, limitOf LimitOf) Suggestion {
	const compare = "the log shows only attackers and no customer: compare with a normal day (--normal)"
	highest := j.peaks[0].Peak
	if caught.Hostile > 0 || highest/2 < attackLimit {
		return Suggestion{Outcome: now, Keep: true, Above: caught, Reason: compare + "; until then the rule stays as it is: " + t.effect(now)}
	}
	threshold, ok := t.inside(max(attackLimit, highest/3), highest/3*2, limitOf)
	if !ok {
		return Suggestion{Reason: compare}
	}
	o := t.Outcome(threshold, limitOf)
	return Suggestion{Outcome: o, Above: j.above(o.Limit), Reason: compare + "; " + t.effect(o)}
}

// keep says why the rule is better as it is.
func (t *Tally) keep(j *judged, now Outcome, caught Caught, limitOf LimitOf) Suggestion {
	s := Suggestion{Outcome: now, Keep: true, Above: caught}
	highest := max(j.benign, j.normal)
	switch {
	case caught.Benign > 0 && caught.Hostile == 0:
		s.Outcome = t.Outcome(atLeast(roomAbove(highest), limitOf), limitOf)
		s.Keep, s.Above = false, j.above(s.Limit)
		s.Reason = fmt.Sprintf("no abuser is visible, and the rule as it is refuses %s that look like customers; %s", t.count(uint64(caught.Benign)), t.effect(s.Outcome))
	case caught.Benign > 0:
		s.Reason = fmt.Sprintf("the rule refuses %d that look hostile and %d that look like customers, and no threshold separates them: a narrower rule may; %s",
			caught.Hostile, caught.Benign, t.effect(now))
	case caught.Hostile > 0:
		s.Reason = fmt.Sprintf("no threshold does better than the rule as it is: %d that look hostile are over it and none that looks like a customer; %s", caught.Hostile, t.effect(now))
	default:
		s = t.noAbuser(limitOf)
		if h := j.hostile(); h > 0 {
			s.Reason = fmt.Sprintf("no threshold separates %s that look hostile from the rest; %s: a narrower rule may find them", t.count(uint64(h)), j.customers(t))
		} else if gap, ok := j.outliers(); ok {
			s.Reason = fmt.Sprintf("nothing says what %s above %d are, and no other counts a third of that: a flood, or many people behind one address; look at them before you choose a threshold",
				t.count(uint64(gap.Keys)), gap.Low)
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
