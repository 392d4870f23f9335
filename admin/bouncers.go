package admin

import (
	"time"

	"edgeguard/admin/call"
)

// The bouncers of CrowdSec that enforce a node's blocks, as operators
// see them by the API, and their keys.

// BouncerList is the bouncers of a node.
type BouncerList struct {
	// Listening is where bouncers connect.
	Listening []string  `json:"listening"`
	Bouncers  []Bouncer `json:"bouncers"`
	// Decisions are what is in force for bouncers, and Ranges those of them that are
	// more than one address.
	Decisions int `json:"decisions"`
	Ranges    int `json:"ranges"`
	// Refused requests showed no key, or a wrong one.
	Refused uint64 `json:"refused"`
}

// Bouncer is one key, and what the bouncers with it did since the start of the node.
type Bouncer struct {
	BouncerFigure
	Made time.Time `json:"made"`
	// Kernel is what the key was made for: auto, yes or no. Packets says that blocks
	// learned behind a proxy are withheld, since the bouncer filters packets.
	Kernel  string `json:"kernel"`
	Packets bool   `json:"filters_packets"`
	// Address and UserAgent are those of the last request, empty where there was none.
	Address   string `json:"address,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
	Addresses int    `json:"addresses"` // from which its bouncers pull
}

// BouncerFigures are what all bouncers did, without where they are.
type BouncerFigures struct {
	Decisions int             `json:"decisions"`
	Refused   uint64          `json:"refused"`
	Bouncers  []BouncerFigure `json:"bouncers,omitempty"`
}

// BouncerFigure is what the bouncers of one key did since the start of the node.
type BouncerFigure struct {
	Name string `json:"name"`
	// LastPull is zero where none has asked since the start, as all below it.
	LastPull time.Time `json:"last_pull,omitzero"`
	// Every is the seconds between two pulls of one address, and Silent says that the
	// last was longer ago than is usual.
	Every  float64 `json:"every_seconds,omitempty"`
	Silent bool    `json:"silent,omitempty"`
	// Behind is the changes that the bouncer furthest behind has not been told.
	Behind    uint64 `json:"behind"`
	Pulls     uint64 `json:"pulls"` // questions for the list of decisions
	Whole     uint64 `json:"whole"` // of the pulls: those that were sent everything
	Questions uint64 `json:"questions"`
	Served    uint64 `json:"served"`  // decisions
	Limited   uint64 `json:"limited"` // requests that were too much
	Reports   uint64 `json:"reports"` // of figures
}

// BouncerRequest makes a key.
type BouncerRequest struct {
	Name string `json:"name"`
	// Kernel says whether the bouncer filters packets: auto goes by its User-Agent, and
	// is the default.
	Kernel string `json:"kernel,omitempty"`
}

// BouncerKey is a new key. Key is shown this once.
type BouncerKey struct {
	Name   string `json:"name"`
	Key    string `json:"key"`
	Kernel string `json:"kernel"`
	// Listening is where bouncers connect.
	Listening []string `json:"listening"`
}

// BouncerRemoved is a key that was removed.
type BouncerRemoved struct {
	Name string `json:"name"`
}

// BouncerOperator is what operators change of a node's bouncers. Package
// node/neighbours implements it.
type BouncerOperator interface {
	// Bouncers returns the state.
	Bouncers() BouncerList

	// AddBouncer makes a key.
	AddBouncer(BouncerRequest) (BouncerKey, *call.Problem)

	// RemoveBouncer removes a key: its bouncers are refused from then on.
	RemoveBouncer(name string) *call.Problem
}
