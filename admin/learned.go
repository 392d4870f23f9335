package admin

import (
	"fmt"

	"edgeguard/internal/words"
)

// Learned is what a rule's threshold is learned from: what this node saw of its site.
type Learned struct {
	Rule string `json:"rule"`
	// Days is how many days were seen, of the last month, and Needed how many are needed.
	Days   int `json:"days"`
	Needed int `json:"days_needed"`
	// Usual is the greatest count of an ordinary day: the median of the days.
	Usual uint32 `json:"usual"`
	// Pending says that there is no threshold, so that the rule counts and tells nothing.
	Pending bool `json:"pending,omitempty"`
}

// String says what the rule has learned, without its name.
func (l *Learned) String() string {
	switch {
	case l.Days < l.Needed && l.Pending:
		return fmt.Sprintf("no limit yet: %d of %d days seen", l.Days, l.Needed)
	case l.Pending:
		return fmt.Sprintf("no limit: an ordinary day counts %s, too many to tell an attack from", words.Number(l.Usual))
	case l.Days == 0:
		return "not learned yet"
	}
	return fmt.Sprintf("an ordinary day counts %s", words.Number(l.Usual))
}
