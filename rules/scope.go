package rules

import "fmt"

// Scope says whose counts a rule compares with its limit. It is not part of the
// meter: rules of either scope share one.
type Scope uint8

// The scopes. On a node without a fleet they are the same.
const (
	ScopeFleet Scope = iota // the node's count and what the rest of the fleet reported
	ScopeNode               // the node's own count alone; none of it is sent to the fleet, but its blocks are
)

var scopeNames = [...]string{"fleet", "node"}

// String returns the word used in the config.
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("scope(%d)", uint8(s))
}
