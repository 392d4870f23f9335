package admin

import (
	"net/netip"
	"time"

	"edgeguard/admin/call"
)

// The networks that are clients' and no front door's, as operators see and name them by the API.

// Client is a network whose addresses are clients', though a source shows no others.
type Client struct {
	Prefix netip.Prefix `json:"prefix"`
	// Source is AllowedByConfig, which has no Since, or AllowedByOperator.
	Source string    `json:"source"`
	Since  time.Time `json:"since,omitzero"`
}

// ClientList is all such networks, those of the config first.
type ClientList struct {
	Clients []Client `json:"clients"`
}

// ClientRequest names a network as clients'.
type ClientRequest struct {
	// Prefix is an address or a prefix without host bits.
	Prefix string `json:"prefix"`
	// Reason is kept in the audit.
	Reason string `json:"reason,omitempty"`
}

// ClientOperator is what operators say of a node's clients. Package node implements it.
type ClientOperator interface {
	// Clients returns those that are named.
	Clients() ClientList

	// AddClient names a network until it is removed.
	AddClient(prefix netip.Prefix) (Client, *call.Problem)

	// RemoveClient takes back what was said at run time of exactly this network.
	RemoveClient(prefix netip.Prefix) (Client, *call.Problem)
}
