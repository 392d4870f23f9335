package detector

import (
	"container/list"
	"net/netip"
	"sync"
	"time"
)

const (
	// stepMemory is how long after a key's last block the next one is still
	// its second, third and so on.
	stepMemory = 24 * time.Hour
	// maxSteps is how many keys' steps are remembered, about 200 bytes each.
	// With more, the key that was blocked longest ago is forgotten: a flood of
	// addresses has to cross a limit with each to get there.
	maxSteps = 1 << 16
)

// Step is how far a key has come on the steps of a rule that escalates.
type Step struct {
	Rule   string
	Prefix netip.Prefix
	// Blocks is how often the key was blocked, each time within a day of the
	// block before it.
	Blocks int
	// Until is when its last block ends.
	Until time.Time
}

// steps remembers who was blocked before. It is kept by rule name, so that a
// new threshold or a new list of steps does not pardon anybody. Safe for
// concurrent use; asked only when a block is made.
type steps struct {
	mu    sync.Mutex
	keys  map[stepKey]*list.Element
	order *list.List // of *Step, the one whose block was made longest ago first
}

type stepKey struct {
	rule   string
	prefix netip.Prefix
}

func newSteps() *steps {
	return &steps{keys: make(map[stepKey]*list.Element), order: list.New()}
}

// before tells how many blocks of the key are remembered.
func (s *steps) before(rule string, prefix netip.Prefix, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[stepKey{rule, prefix}]; e != nil {
		if step := e.Value.(*Step); now.Before(step.Until.Add(stepMemory)) {
			return step.Blocks
		}
	}
	return 0
}

// note remembers a block as the key's last.
func (s *steps) note(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := stepKey{step.Rule, step.Prefix}
	if e := s.keys[key]; e != nil {
		e.Value = &step
		s.order.MoveToBack(e)
		return
	}
	if s.order.Len() >= maxSteps {
		s.drop(s.order.Front())
	}
	s.keys[key] = s.order.PushBack(&step)
}

// prolong moves the end of the key's last block.
func (s *steps) prolong(rule string, prefix netip.Prefix, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[stepKey{rule, prefix}]; e != nil {
		e.Value.(*Step).Until = until
	}
}

// clear forgets every key inside prefix.
func (s *steps) clear(prefix netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.order.Front(); e != nil; {
		next := e.Next()
		if inside(e.Value.(*Step).Prefix, prefix) {
			s.drop(e)
		}
		e = next
	}
}

// sweep forgets what is over among the oldest, at most n of them.
func (s *steps) sweep(now time.Time, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.order.Front(); e != nil && n > 0; n-- {
		if now.Before(e.Value.(*Step).Until.Add(stepMemory)) {
			return
		}
		next := e.Next()
		s.drop(e)
		e = next
	}
}

func (s *steps) drop(e *list.Element) {
	step := s.order.Remove(e).(*Step)
	delete(s.keys, stepKey{step.Rule, step.Prefix})
}

// inside reports whether p is outer or a part of it.
func inside(p, outer netip.Prefix) bool {
	return p.Bits() >= outer.Bits() && outer.Contains(p.Addr())
}

// Steps gives what is remembered of the keys of rules that escalate, the one
// that was blocked longest ago first: for a snapshot.
func (d *Detector) Steps() []Step {
	d.steps.mu.Lock()
	defer d.steps.mu.Unlock()
	out := make([]Step, 0, d.steps.order.Len())
	for e := d.steps.order.Front(); e != nil; e = e.Next() {
		out = append(out, *e.Value.(*Step))
	}
	return out
}

// RestoreSteps takes in what Steps gave, in its order, before the first event.
// What is forgotten at now, or makes no sense, is left out; it returns how many
// it took.
func (d *Detector) RestoreSteps(now time.Time, saved []Step) (taken int) {
	for _, step := range saved {
		if step.Blocks < 1 || !step.Prefix.IsValid() || !now.Before(step.Until.Add(stepMemory)) {
			continue
		}
		d.steps.note(step)
		taken++
	}
	return taken
}
