package edgeguard

import (
	"slices"
	"strings"
)

// Kind is a set of the kinds of event. A rule counts exactly one; an event may
// be of several.
type Kind uint16

// The kinds of event. Packet, SYN, UDP and ICMP can never be verified: their
// source is whatever a stranger wrote into the packet. The others can be, and
// Event.Verified says whether they are: a failed login by SIP over UDP is not.
const (
	KindRequest     Kind = 1 << iota // an HTTP request
	KindResponse                     // its answer, with a status
	KindPacket                       // any IP packet
	KindSYN                          // a TCP connection attempt
	KindHandshake                    // a TCP connection completed by the client
	KindUDP                          // a UDP datagram
	KindICMP                         // an ICMP or ICMPv6 message
	KindAuthFailure                  // a login that a server refused
	KindRejection                    // what a server's own rule refused: a rate, a relay, a forbidden path
)

// Verifiable are the kinds whose source can be one that a stranger cannot forge.
const Verifiable = KindRequest | KindResponse | KindHandshake | KindAuthFailure | KindRejection

var kindNames = []string{"request", "response", "packet", "syn", "handshake", "udp", "icmp", "auth_failure", "rejection"}

// Kinds lists the names of all kinds, in the order of their bits.
func Kinds() []string { return slices.Clone(kindNames) }

// ParseKind reads one kind's name.
func ParseKind(name string) (Kind, bool) {
	i := slices.Index(kindNames, name)
	if i < 0 {
		return 0, false
	}
	return 1 << i, true
}

// String returns the names of the kinds in the set, joined by "+".
func (k Kind) String() string {
	var names []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}
