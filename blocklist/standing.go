package blocklist

import "fmt"

// Standing is what the list says of an address.
type Standing uint8

// The standings. Where several hold, the order is Allowed, Protected and Peer (unless
// the block was forced on this node), Blocked.
const (
	None      Standing = iota // nothing is known of it
	Allowed                   // on the allowlist, or inside an allowance
	Protected                 // an address that is not blocked unless forced on this node
	Blocked                   // inside a block in force
	Peer                      // an address of another node: counted, and not blocked unless forced on this node
)

var standingNames = [...]string{"none", "allowed", "protected", "blocked", "peer"}

// String returns the word used in JSON and in the log.
func (s Standing) String() string {
	if int(s) < len(standingNames) {
		return standingNames[s]
	}
	return fmt.Sprintf("standing(%d)", uint8(s))
}
