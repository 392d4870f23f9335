package crawlers

// mostAgent is how many bytes of a User-Agent are read: who hides his claim behind
// more claims nothing.
const mostAgent = 1024

// automaton finds all of some texts in one pass over another, in any case (Aho and
// Corasick, 1975): an agent's length is the cost, however many crawlers there are.
type automaton struct {
	steps  [][256]uint16 // by state and byte; state 0 is the beginning
	claims []uint64      // by state: the texts that end there
}

// addText adds a text. finish must follow.
func (a *automaton) addText(text string, claim uint64) {
	if a.steps == nil {
		a.steps, a.claims = make([][256]uint16, 1), make([]uint64, 1)
	}
	state := uint16(0)
	for i := range len(text) {
		b := lower(text[i])
		if a.steps[state][b] == 0 {
			a.steps, a.claims = append(a.steps, [256]uint16{}), append(a.claims, 0)
			a.steps[state][b] = uint16(len(a.steps) - 1)
		}
		state = a.steps[state][b]
	}
	a.claims[state] |= claim
}

// finish fills in where a state goes on with a byte that no text has there: to the
// longest text that ends like what was read.
func (a *automaton) finish() {
	if a.steps == nil {
		return
	}
	back := make([]uint16, len(a.steps))
	var order []uint16
	for _, next := range a.steps[0] {
		if next != 0 {
			order = append(order, next)
		}
	}
	for k := 0; k < len(order); k++ {
		state := order[k]
		a.claims[state] |= a.claims[back[state]]
		for b, next := range a.steps[state] {
			if other := a.steps[back[state]][b]; next == 0 {
				a.steps[state][b] = other
			} else {
				back[next] = other
				order = append(order, next)
			}
		}
	}
	for state := range a.steps {
		for b := 'A'; b <= 'Z'; b++ {
			a.steps[state][b] = a.steps[state][b+'a'-'A']
		}
	}
}

// claimsOf returns the claims of an agent.
func (a *automaton) claimsOf(agent string) (claims uint64) {
	if a.steps == nil {
		return 0
	}
	state := uint16(0)
	for i := range min(len(agent), mostAgent) {
		state = a.steps[state][agent[i]]
		claims |= a.claims[state]
	}
	return claims
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}
