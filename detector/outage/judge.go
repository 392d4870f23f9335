package outage

import "math/bits"

const (
	leastVisitors = 20 // a minute
	leastFailing  = 10
	fewShare      = 5 // successes are few when they are at most one in so many of the mean
	mostlyFail    = 4 // it fails when so many only fail for each that succeeds
	baseMinutes   = 30
	suddenMinutes = 5 // in which they are few already where a site only grows quiet
)

// Reason is why a scope is not armed.
type Reason string

// The reasons.
const (
	Quiet   Reason = "too few visitors to tell an outage from silence"
	Healthy Reason = "visitors succeed"
	Few     Reason = "few succeed, but most of those who succeeded before do not fail"
	Spent   Reason = "twelve minutes of the last hour were armed"
)

// State is what the Watch knows of a scope that had a success, at its present step.
type State struct {
	Scope uint8
	Armed bool
	Since uint32 // the first second of the present state; 0 if it was always so
	Why   Reason // why it is not armed; "" if it is
	// Visitors is the mean number of addresses with a success a minute, over the half hour
	// before the last minute.
	Visitors float64
	// Succeeding and Failing are how many addresses of the last minute, with the step that goes
	// on, succeed, and how many succeeded in the half hour before and only fail.
	Succeeding, Failing int
	// Used is how many seconds of the last hour were armed, of at most 720.
	Used int
}

// State returns the scopes that had a success.
func (g *Watch) State() (all []State) {
	for i := range g.each {
		s := &g.scopes[i]
		scale := int(s.scale())
		all = append(all, State{
			Scope: uint8(i), Armed: g.armed[g.now%ringSteps]>>i&1 != 0, Since: s.since, Why: s.why, Used: s.budget.used * stepSeconds,
			Visitors:   float64(s.base(g.now, baseMinutes)) / baseMinutes,
			Succeeding: int(s.succeeding(g.now+1)) * scale, Failing: s.failing(g.now+1) * scale,
		})
	}
	return all
}

// Fails reports whether a scope is armed at the present step. Unlike State it counts nobody.
func (g *Watch) Fails() bool { return g.armed[g.now%ringSteps] != 0 }

// leastMissed is from how many visitors a minute on it is known that they are gone.
const leastMissed = 3

// Slumps returns the scopes, a bit each, whose visitors are gone: addresses with a success
// in the last minute, with the step that goes on, are few, where they were at least three a minute.
// That is no outage, which more must tell, and excuses nothing.
func (g *Watch) Slumps() (scopes uint64) {
	for i := range g.each {
		s := &g.scopes[i]
		if base := s.base(g.now, baseMinutes); base >= leastMissed*baseMinutes && s.few(g.now+1, base) {
			scopes |= 1 << i
		}
	}
	return scopes
}

// Clock returns the first second of the present step; 0 before the first.
func (g *Watch) Clock() uint32 { return g.from }

// few reports whether successes in the window before a step are few beside the base.
func (s *scope) few(step uint32, base uint64) bool {
	return uint64(s.succeeding(step))*uint64(s.scale())*fewShare*baseMinutes <= base
}

// advance makes a later step the current one. The steps on the way are judged, until all
// that an answer may be late for have only silence before them: none of these is armed.
func (g *Watch) advance(to uint32) {
	if g.now == 0 {
		g.now = to - 1
	}
	for silent := g.now + 2*ringSteps; g.now < to-1 && g.now < silent; {
		g.beginStep(g.now + 1)
	}
	if last := to - 1; g.now < last {
		for i := range g.each {
			g.scopes[i].forget(g.now/minuteSteps+1, last/minuteSteps)
			g.scopes[i].budget.skip(g.now+1, last)
		}
		g.now = last
	}
	g.beginStep(to)
}

// beginStep makes the next step the current one and judges the scopes for it.
func (g *Watch) beginStep(step uint32) {
	g.now, g.from, g.step = step, (step-origin)*stepSeconds, uint64(step)<<32
	g.armed[step%ringSteps] = 0
	for i := range g.each {
		s := &g.scopes[i]
		s.latest[step%ringSteps] = 0
		s.budget.skip(step, step)
		if step%minuteSteps == 0 {
			s.forget(step/minuteSteps, step/minuteSteps)
		}
		if s.sample != ^uint64(0) && (step+uint32(i))%(5*minuteSteps) == 0 && s.liveGroups(g)*2 <= someLive {
			s.rebuild(g) // not of all scopes in one step
		}
		s.why = s.whyNotArmed(step)
		if s.why == "" && s.budget.used >= budgetSteps {
			s.why = Spent
		}
		g.turn(uint8(i), s, s.why == "")
	}
}

// each calls yield with the scopes that had a success.
func (g *Watch) each(yield func(i int) bool) {
	for left := g.known; left != 0 && yield(bits.TrailingZeros64(left)); left &= left - 1 {
	}
}

// turn makes a scope armed or not for the step that begins.
func (g *Watch) turn(i uint8, s *scope, armed bool) {
	was := g.armed[(g.now-1)%ringSteps]>>i&1 != 0
	if armed {
		g.armed[g.now%ringSteps] |= 1 << i
		s.budget.use(g.now)
	}
	if armed == was {
		return
	}
	s.since = g.from
	if call := g.Disarmed; !armed && call != nil {
		call(i, s.since)
	}
	if call := g.Armed; armed && call != nil {
		call(i, s.since)
	}
}

// whyNotArmed returns why a step is not to be armed by the window before it, or "". Where a scope was
// armed in the last hour the last minutes may have been few, as they are in an outage, and
// the half hour has minutes of failure in it: so of a site that starts and crashes again.
func (s *scope) whyNotArmed(step uint32) Reason {
	base, least := s.base(step, suddenMinutes)*(baseMinutes/suddenMinutes), uint64(leastVisitors*baseMinutes)
	switch {
	case s.budget.used > 0:
		base, least = s.base(step, baseMinutes), least/2
	case base >= least: // or it is quiet already
		base = min(base, s.base(step, baseMinutes))
	}
	if base < least {
		return Quiet
	}
	if !s.few(step, base) {
		return Healthy
	}
	succeeding := s.succeeding(step)
	if failing := s.failing(step); failing < leastFailing || failing < mostlyFail*int(succeeding) {
		return Few
	}
	return ""
}

// base returns the addresses with a success in each of so many whole minutes before the
// window before a step, added up.
func (s *scope) base(step, minutes uint32) (sum uint64) {
	window := (step - windowSteps) / minuteSteps
	for m := window - minutes; m < window; m++ {
		sum += uint64(s.visitors[m%minuteRing])
	}
	return sum
}

// succeeding returns the addresses in the table with a success in the window.
func (s *scope) succeeding(step uint32) (sum uint32) {
	for i := step - windowSteps; i < step; i++ {
		sum += s.latest[i%ringSteps]
	}
	return sum
}

// failing returns those that only failed in it, and succeeded in the half hour before.
func (s *scope) failing(step uint32) (sum int) {
	window := step - windowSteps
	for i := range s.groups {
		e := &s.groups[i]
		for p, succeeded := range e.succeeded {
			if succeeded < window && succeeded+recallSteps >= window && e.failed[p] >= window {
				sum++
			}
		}
	}
	return sum
}

// forget clears minutes that begin now, from one to another.
func (s *scope) forget(from, to uint32) {
	for m := max(from, to-min(to, minuteRing-1)); m <= to; m++ {
		s.visitors[m%minuteRing] = 0
	}
}

// budget is which steps of the last hour a scope was armed in. Each has its own: of one for
// all, who makes a scope fail that nobody visits would leave nothing for an outage.
type budget struct {
	spent [hourSteps]bool // by step, modulo
	used  int             // how many are
}

// skip makes room for steps that begin now, from one to another.
func (b *budget) skip(from, to uint32) {
	for step := max(from, to-min(to, hourSteps-1)); step <= to; step++ {
		if b.spent[step%hourSteps] {
			b.spent[step%hourSteps] = false
			b.used--
		}
	}
}

func (b *budget) use(step uint32) {
	if !b.spent[step%hourSteps] {
		b.spent[step%hourSteps] = true
		b.used++
	}
}
