package words

// Measure is what figures are counted in, so that people read "6 different paths" where a rule
// adds up 12. The zero Measure is of figures of which nobody knows what they count.
type Measure struct {
	// Each is what one adds to a figure: divided by it, a figure says how many there were.
	Each uint32 `json:"each"`
	// One and Many are what is counted, such as "attempt" and "attempts". Both are "cost"
	// where the operator has weighed events, so that a figure is no number of them.
	One  string `json:"one"`
	Many string `json:"many"`
	// Exact is the highest figure that is exact: one above it says at least how many there
	// were, and the next that there were more. 0: all are.
	Exact uint32 `json:"exact,omitempty"`
}

// costs is the noun of a weighed figure.
const costs = "cost"

// Weighed returns the unit of figures in which events have weights.
func Weighed() Measure { return Measure{Each: 1, One: costs, Many: costs} }

// Amount writes a figure without its noun, with a decimal place where it is not whole.
func (u Measure) Amount(n uint32) string {
	if u.Each < 2 || n%u.Each == 0 {
		return Number(n / max(u.Each, 1))
	}
	tenths := (uint64(n)*10 + uint64(u.Each)/2) / uint64(u.Each)
	return Number(tenths/10) + "." + Number(tenths%10)
}

// Of writes a figure with its noun: "6 different paths", "cost 1,000".
func (u Measure) Of(n uint32) string {
	amount := u.Amount(n)
	switch {
	case u.Many == "":
		return "count " + amount
	case u.Many == costs:
		return costs + " " + amount
	case u.Exact > 0 && n == u.Exact+1:
		return "more than " + u.Amount(u.Exact) + " " + u.Many
	case u.Exact > 0 && n > u.Exact:
		amount = "at least " + amount
	}
	if n == u.Each {
		return amount + " " + u.One
	}
	return amount + " " + u.Many
}

// Allowed writes how many whole ones a limit allows, with their noun: "25 attempts".
func (u Measure) Allowed(limit uint32) string { return u.Of(limit - limit%max(u.Each, 1)) }

// Beside writes a figure beside its limit: "6 different paths, limit 5".
func (u Measure) Beside(n, limit uint32) string { return u.Of(n) + ", limit " + u.Amount(limit) }

// Note returns what follows a threshold, which is written as in the config: ", each counts 2",
// or nothing where one adds 1.
func (u Measure) Note() string {
	if u.Each < 2 {
		return ""
	}
	return ", each counts " + Number(u.Each)
}
