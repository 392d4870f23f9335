package traffic

import (
	"iter"
	"net/netip"
	"time"
)

// Request is one request of a [Scenario].
type Request struct {
	// At is when it comes, since [Start]. Requests of a scenario are in this order.
	At time.Duration
	// Client is who sends it, a number from 0; [Request.Addr] is the client's address.
	Client uint32
	// Cost is what it counts; 1 but in scenarios about weighted cost.
	Cost uint16
	// Node is which of the scenario's nodes it reaches, from 0.
	Node uint16
}

// Start is when every scenario begins: a multiple of all windows and slots
// that are compared.
var Start = time.Unix(logStart, 0).UTC()

// Addr returns the address of the client: one in eight is of IPv6.
func (r Request) Addr() netip.Addr { return client(uint64(r.Client)) }

// Scenario is traffic against one limit.
type Scenario struct {
	Name   string        // one word with dashes, as a flag takes it
	What   string        // a sentence for the reader
	Limit  uint32        // how much cost a client may have in a window
	Window time.Duration // 60 slots
	Nodes  int           // how many nodes it is spread over; 1 but where the fleet is meant
	// Attackers is the number of clients that are up to no good: they are
	// clients 0 to Attackers-1.
	Attackers uint32
	// Requests draws the scenario: the same seed gives the same requests.
	Requests func(seed uint64) iter.Seq[Request]
}
