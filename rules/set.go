package rules

import (
	"time"

	"edgeguard"
)

// Set is what [Compile] makes: rules in the order of their specs, and the
// meters that they share. It does not change and is safe for concurrent use.
type Set struct {
	Rules  []Rule
	Meters []Meter

	index *index
	asked *Unanswered
}

// Compile checks the specs and makes a set of them. If anything is wrong, it
// returns all problems of all specs, in their order, and no set.
func Compile(specs []Spec) (*Set, []Problem) {
	c := compiler{names: make(map[string]int), meters: make(map[string]int)}
	for i := range specs {
		c.rule = i
		c.addRule(&specs[i])
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	c.set.index = newIndex(c.set.Meters)
	c.set.asked = newUnanswered(&c.set)
	return &c.set, nil
}

// Unanswered returns what the rules that deny say of a request that has no answer yet.
func (s *Set) Unanswered() *Unanswered { return s.asked }

// Kinds returns the kinds that the set's meters count.
func (s *Set) Kinds() edgeguard.Kind {
	var kinds edgeguard.Kind
	for i := range s.Meters {
		kinds |= s.Meters[i].Kind
	}
	return kinds
}

// LongestWindow returns the longest window of the meters: how long blocks that have
// ended are remembered.
func (s *Set) LongestWindow() time.Duration {
	longest := DefaultWindow
	for i := range s.Meters {
		longest = max(longest, s.Meters[i].Window)
	}
	return longest
}
