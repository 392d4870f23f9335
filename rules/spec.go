package rules

import (
	"time"

	"edgeguard"
)

// Spec is one rule as its author wrote it. [Compile] checks it; the zero value
// of every field but Name and Threshold means its default.
type Spec struct {
	// Name identifies the rule to people. Required, and unique in a set.
	Name string
	// Match says which events count. The zero value matches every request.
	Match Match
	// When is an expression that must hold too, for what Match cannot say; see
	// docs/rules.md for what it may be. Empty: none.
	When string
	// Key says what is counted together. The zero value is the address.
	Key Group
	// Window is the span looked back over: 5 minutes by default. Sixty slots
	// of whole seconds must make it up.
	Window time.Duration
	// Threshold is the cost per window and key that the rule allows. Required.
	Threshold uint32
	// Learned says that the author left the threshold to what the node sees, and Pending that it
	// has not seen enough: such a rule counts, and tells nothing.
	Learned, Pending bool
	// Guard is the part of the threshold that is used, a decimal above 0 and
	// up to 1: "0.95" by default. See [Guard].
	Guard string
	// Candidates are further thresholds that are counted and reported, never
	// enforced.
	Candidates []uint32
	// Cost is what a matching event adds to the count: 1 by default.
	Cost uint32
	// Distinct is the field whose different values a key shows in the window are counted,
	// in place of events: "path", "port", "host", "agent", "parameter" or "address". Each adds its cost, 1 to 4, once. Empty: events.
	Distinct string
	// Costs are dearer and cheaper events; the first that matches wins over
	// Cost.
	Costs []Charge
	// Action is edgeguard.ActionBlock, ActionDeny or ActionShadow; the zero
	// value means ActionBlock.
	Action edgeguard.Action
	// Everybody says that a rule whose key has no address may deny: it refuses everybody
	// who asks for what is over the limit.
	Everybody bool
	// BlockFor is how long a block lasts: 10 minutes by default.
	BlockFor time.Duration
	// Escalate is how long the blocks after the first last, none shorter than
	// the one before it; the last is used again and again. Nil: BlockFor.
	Escalate []time.Duration
	// ProvokedFor is the longest that a block lasts whose last request a page elsewhere may
	// have made a browser send ([Provokable]); 0: as long as any.
	ProvokedFor time.Duration
	// WhileOver makes a block last for as long as the count stays over the
	// limit, and BlockFor at least.
	WhileOver bool
	// Scope is ScopeFleet by default: the limit is for the whole fleet. With Distinct it is
	// ScopeNode: two nodes may have seen the same value, so that counts cannot be added.
	Scope Scope
	// OnFleetLoss is LossLocal by default. Only a rule of the fleet has another.
	OnFleetLoss Loss
	// Own is the hosts of the site, which Referer is compared with; nil where they
	// are not known.
	Own *Hosts
	// Wide is WideDefault by default: IPv6 is counted by /56 and /48 besides.
	Wide Wide
	// People says how high people count by the rule; zero if that is not known. It
	// decides nothing.
	People People
}

// People is the highest count of a key in traffic of people and programs that a site
// wants.
type People struct {
	Count uint32
	Scene string // the name of the traffic
}

// Match is a set of terms. An event matches if it satisfies every term that is
// given, and a term is satisfied by any one of its values. A term that is nil
// is not given; one that is empty is a mistake.
//
// A field that the event's source does not know satisfies neither a term nor
// its opposite under Not.
type Match struct {
	// Kind is the kind of event that the rule counts: one name. By default it
	// is "response" if the rule names a status anywhere, else "request".
	Kind []string
	// Host is compared without port and without regard to case; "*" stands
	// for any run of characters.
	Host []string
	// Method is compared in any case.
	Method []string
	// Path is compared with the normalized path; "*" stands for any run of
	// characters, slashes included. It is written as a client would send it:
	// "%2A" is a literal star.
	Path []string
	// Fold makes all paths of the rule, and of its key, match the variants that frameworks
	// serve as one page: any case, a slash at the end, parameters, an extension. Only a
	// rule's own Match has it.
	Fold bool
	// Status is a number ("404"), a range ("400-499") or a class ("4xx").
	Status []string
	// Port is the destination port: a number or a range.
	Port []string
	// Referer and FetchSite say which page made a browser send the request: "none",
	// "own" or "foreign", and the values of Sec-Fetch-Site. Clients write both, so
	// they can only be in the Match of a Charge.
	Referer, FetchSite []string
	// Crawler is one of edgeguard.CrawlerWords, or the name of a crawler whose client
	// was verified.
	Crawler []string
	// Target is what stands where a request line has its target: "path", "asterisk",
	// "authority", "own" or "foreign" for an absolute address, which need Own, "not_http" or
	// "tls" for the bytes of another protocol.
	Target []string
	// Not holds terms of which an event may satisfy none. It has no Not; its Kind, unlike the one above, may name several.
	Not *Match
}

// Group says what is counted together.
type Group struct {
	// V4 and V6 are prefix lengths in bits; 0 means 32 and 64.
	V4, V6 int
	// Everybody leaves the address out: IPv4 and IPv6 count in one key, or in one for
	// each value of With.
	Everybody bool
	// With names attributes that are part of the key: "host", "path", "method", "node",
	// "agent", "query", or "header:", "cookie:" or "query:" and a name.
	With []string
}

// Charge is the cost of the events that match it.
type Charge struct {
	// Match is as the rule's own, without Kind.
	Match Match
	// Cost is from 1 to 65,535.
	Cost uint32
}
