package nftables

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Whether a list of blocks is in force in the kernel: for good, for the time of a trial, or
// not. That keeps an operator from locking himself out: a trial that is not confirmed ends by
// itself, whatever dies meanwhile.
//
//	in force ──begin──▶ trial ──confirm──▶ in force
//	                      │ its time is over, edgeguard restarts
//	in force ──pause───▶ paused ──resume──▶ in force
//
// [Trial] is the state machine, and [TrialList] the enforcer that it governs. During a trial
// no element of the kernel lasts longer than what is left of it: the kernel's own
// timeouts end it, with edgeguard dead or hung and by a clock that never steps. A [TrialMark]
// on the disk, written before the trial begins, keeps a restart from putting the whole
// list in force again.

// TrialState is whether the list is in force.
type TrialState uint8

// The states.
const (
	InForce TrialState = iota
	Trying             // in force until the trial ends
	Paused             // not in force until an operator says so
)

// String returns a state's name, as the API has it.
func (s TrialState) String() string { return [...]string{"in force", "trial", "paused"}[s] }

// TrialStatus is a state with its reason.
type TrialStatus struct {
	State TrialState
	// Until is when a trial ends, or ended without a confirmation; zero for none.
	Until time.Time
	// Why says why the list is paused.
	Why string
	// Spared are never dropped during a trial.
	Spared []netip.Addr
	// More says that there were more to spare than could be.
	More bool
}

// TimeLeft is how much of a trial is left at now.
func (s *TrialStatus) TimeLeft(now time.Time) time.Duration {
	if s.State != Trying {
		return 0
	}
	return max(s.Until.Sub(now), 0)
}

// Unconfirmed is why a list is paused after a trial that ended by its time.
const Unconfirmed = "a trial was not confirmed"

// Trial is the state. The zero value is in force. It is safe for concurrent use.
type Trial struct {
	mu sync.Mutex // guards s
	s  TrialStatus
}

// StatusAt returns the status at now.
func (t *Trial) StatusAt(now time.Time) TrialStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.s
	if s.State == Trying && !now.Before(s.Until) {
		s.State, s.Why, s.Spared = Paused, Unconfirmed, nil
	}
	return s
}

// Begin begins a trial until a time, or moves the end of one that runs. It spares the
// addresses of the earlier one, too. more is Status.More.
func (t *Trial) Begin(until time.Time, spare []netip.Addr, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.s.State == Trying {
		spare = slices.Concat(t.s.Spared, spare)
	}
	spare = slices.Clone(spare)
	slices.SortFunc(spare, netip.Addr.Compare)
	t.s = TrialStatus{State: Trying, Until: until, Spared: slices.Compact(spare), More: more}
}

// Pause takes the list out of force.
func (t *Trial) Pause(why string) { t.SetStatus(TrialStatus{State: Paused, Why: why}) }

// PutInForce puts the list in force for good: it ends a trial as confirmed, and a pause.
func (t *Trial) PutInForce() { t.SetStatus(TrialStatus{}) }

// SetStatus puts a status in force that At returned.
func (t *Trial) SetStatus(s TrialStatus) {
	t.mu.Lock()
	t.s = s
	t.mu.Unlock()
}
