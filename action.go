package edgeguard

import "fmt"

// Action is what is done about an event. A verdict is ActionPass, ActionShadow
// or ActionDeny; a rule's is ActionShadow, ActionDeny or ActionBlock; a
// crossing's is any but ActionPass.
type Action uint8

// The actions, from the mildest to the strongest.
const (
	ActionPass   Action = iota // let through
	ActionAlarm                // only report: the evidence can be forged
	ActionShadow               // only report: the rule or the mode says so
	ActionDeny                 // refuse the events that match, while the count is over
	ActionBlock                // refuse the whole prefix for a while
)

var actionNames = [...]string{"pass", "alarm", "shadow", "deny", "block"}

// String returns the word used in the config, in JSON and in the log.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}
