// Package edgeguard holds the words that every part of edgeguard shares: the
// [Event] that a sensor saw, the [Key] it counts under, the [Verdict] that
// answers it, and the [Block] that follows.
//
// An event's path, which is also the list of folders:
//
//	sensor ──Event──▶ rules ──Meter, Key──▶ shard ▸ ring ──count──▶ detector ──Verdict──▶ the answer
//	                                                                   │
//	                                                                 Block ──▶ blocklist
//
// A sensor (an access log, a capture, a forward-auth request) says what an
// address did. The rules say which meters count it and under which key. The
// shard package finds the key's sliding window and counts in it; the sixty slots
// are 120 bytes of the ring package's Counts. The detector compares the count with
// each rule's limit. Its verdict is the answer; a block goes to the blocklist.
//
// This package imports nothing of ours and does nothing: it is safe to import
// from everywhere.
package edgeguard

import (
	"net/netip"
	"time"
)

// Event is one thing an address did, as a sensor saw it.
//
// The strings may point into a sensor's buffer. They are valid during the call
// that passes the event: clone a string to keep it.
type Event struct {
	// Time is when it happened, by its source's clock: a log line's own time,
	// a packet's capture time, or the clock of a live sensor.
	Time time.Time
	// Addr is the client, unmapped (never ::ffff:a.b.c.d) and without a zone.
	Addr netip.Addr
	// Kind says what happened. One event may be of several kinds: a
	// log line is a request and its response, a SYN is also a packet. A rule
	// counts one of them.
	Kind Kind
	// Verified names the kinds of this event whose source address a stranger
	// cannot forge (a completed handshake, an HTTP request). A crossing on any
	// other kind raises an alarm and never blocks.
	Verified Kind
	// Proxied says that Addr was taken from a header of a trusted proxy, so
	// that the kernel would see the proxy and not the client.
	Proxied bool
	// Answer says that this is a packet to somebody who spoke first, as a server's are: Port
	// is then the other's choice. It is set only where it is asked for.
	Answer bool
	// Awaited says that Crawler is unknown and may soon be known: a rule that asks
	// for it counts the event and does not block yet.
	Awaited bool
	// Hits is how many times the event is counted, which its source says; 0 is once. It
	// multiplies the costs of the rules, and a count of different values has it once.
	Hits uint16
	// Known names the fields below that the source supplied. A field that is
	// not known satisfies neither a rule's term nor its `not`.
	Known Field

	Status uint16 // HTTP status, 0 if not known
	Port   uint16 // destination port, 0 if not known
	Host   string // host name asked for, as sent
	Method string // HTTP method, as sent
	Path   string // request target, as sent: query and escapes included
	Agent  string // User-Agent
	Node   string // the node that saw it, where a file names it; else empty
	// Referer and FetchSite are what the headers Referer and Sec-Fetch-Site say of
	// the page that made a browser ask; empty where a client sent none. A client
	// writes them.
	Referer, FetchSite string
	// Crawler says whether the client is the crawler that its User-Agent claims: one
	// of [CrawlerWords], or [VerifiedCrawler] and the crawler's name.
	Crawler string

	// Header reads a request header for rules that count by one; nil where the
	// source carries no headers.
	Header func(name string) (value string, ok bool)
}

// KeepTexts replaces each of the event's strings by what keep returns for it, so
// that the event outlives the buffer they point into. Header is not replaced.
func (e *Event) KeepTexts(keep func(string) string) {
	for _, text := range [...]*string{&e.Host, &e.Method, &e.Path, &e.Agent, &e.Node, &e.Referer, &e.FetchSite} {
		*text = keep(*text)
	}
}

// Key is what is counted together: a prefix of the address, and for some
// meters the value of further attributes.
type Key struct {
	Prefix netip.Prefix
	// With is the attributes' values as shown to people ("host=example.org"),
	// empty for a key of the address alone.
	With string
}

// String returns the bare address for a single address and the prefix
// otherwise, followed by the attributes if there are any.
func (k Key) String() string {
	s := k.Prefix.String()
	if k.Prefix.IsSingleIP() {
		s = k.Prefix.Addr().String()
	}
	if k.With != "" {
		s += " " + k.With
	}
	return s
}

// Verdict is the answer to one event.
type Verdict struct {
	// Action is Pass, Shadow or Deny.
	Action Action
	// Rule is the name of the rule that decided, empty for a pass.
	Rule string
	// Reason says in a few words why ("over limit", "blocked", "allowlist").
	Reason string
	// Count is the key's cost in the window, this event included; Limit what
	// it was compared with. Both are 0 where no count decided.
	Count, Limit uint32
	// RetryAfter is how long until one more such event would pass, if nothing
	// else came: until the count has fallen far enough and the block has ended,
	// whichever is later. It is 0 for a pass, and less exact in a batch.
	RetryAfter time.Duration
}

// Decider answers one event at the instant now. Inline sensors pass its verdict
// to their client.
type Decider func(now time.Time, event *Event) Verdict

// Forever is the Until of a record that lasts until it is taken back: the last
// year whose nanoseconds since 1970 fit into 63 bits, as the fleet's records need.
var Forever = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// ManualRule is the Rule of blocks and allowances by operators. No rule may have
// this name.
const ManualRule = "manual"

// Block is a prefix that is denied until a time, or that may not be denied
// (Allow). One record serves for both, so that a prefix is only one of them and
// the later change wins on every node.
type Block struct {
	Prefix netip.Prefix
	// Rule is the rule that made it, [ManualRule] for an operator's, and for another
	// program's what [OwnerRule] returns.
	Rule   string
	Reason string
	Origin string // the node that made it
	// Count and Limit are those of the crossing.
	Count, Limit uint32
	// Since is when it began; of a tombstone, the moment of the lift.
	Since, Until time.Time
	// Proxied says that the prefix was learned from behind a trusted proxy: the
	// kernel never sees it as a source, so no kernel enforcer may block it.
	Proxied bool
	// Allow says that this is an allowance: no address in the prefix is blocked
	// while it is in force.
	Allow bool
	// Lifted marks a tombstone: the block or allowance was taken back, and older
	// records must not bring it back.
	Lifted bool
	// Version orders changes of one prefix between nodes: the greater wins.
	Version uint64
}

// Crossing is the moment at which a key's count passed a rule's limit, with
// what came of it.
type Crossing struct {
	Time time.Time
	Node string
	Rule string
	Key  Key
	// Action is Block, Deny or Shadow as the rule says, or Alarm where the
	// evidence can be forged. It is Deny, and not Block, where Stands is set.
	Action                  Action
	Count, Limit, Threshold uint32
	// Fleet says that Count is what several nodes counted, added up.
	Fleet bool
	// Wide is 56 or 48 where Key.Prefix is an IPv6 network of that size around
	// keys of the rule, and Limit what the rule allows such a network; else 0.
	Wide uint8
	// Until is when the block ends; zero unless Action is Block or Stands is set.
	Until time.Time
	// Stands is the rule of a block that was in force already and stays, because
	// it is as long or an operator's; otherwise empty.
	Stands string
}

// Evidence is what a key had counted when a rule blocked it. The counts move on,
// so that later nothing else shows why.
type Evidence struct {
	Prefix netip.Prefix // of the block
	// With is the key's attributes as shown to people; a client wrote some of it.
	With         string
	Rule, Node   string    // the node is the one that made the block
	Since, Until time.Time // of the block
	// Count, Limit and Threshold are those of the crossing; Fleet says that Count
	// is what several nodes counted, added up.
	Count, Limit, Threshold uint32
	Fleet                   bool
	// Slots is what this node counted in the window that ended at Since, the
	// oldest first; Width is the length of a slot in seconds.
	Slots [Slots]uint16
	Width uint32
	// Split says which node counted how much of Count, the greatest first, where
	// the fleet counted and the nodes' counts could be read.
	Split []Part
}

// Part is one node's part of a count.
type Part struct {
	Node  string
	Count uint32
}

// Alarm is something an operator should look at.
type Alarm struct {
	Time       time.Time
	Kind, Text string
}
