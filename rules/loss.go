package rules

import "fmt"

// Loss says what a rule of the fleet does while the fleet cannot be reached.
type Loss uint8

// What may be done without the fleet.
const (
	LossLocal  Loss = iota // go on with the node's own counts
	LossOpen               // enforce nothing: report at most
	LossClosed             // deny every event that the rule's meter counts
)

var lossNames = [...]string{"local", "open", "closed"}

// String returns the word used in the config.
func (l Loss) String() string {
	if int(l) < len(lossNames) {
		return lossNames[l]
	}
	return fmt.Sprintf("loss(%d)", uint8(l))
}
