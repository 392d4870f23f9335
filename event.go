// Package edgeguard holds the words that every part of edgeguard shares: the
// [Event] that a sensor saw, the [Key] it counts under, the [Verdict] that answers
// it, the [Block] that follows.
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
	"fmt"
	"net/netip"
	"slices"
	"strings"
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
	// Named says that a trusted proxy named Addr, by a header or as it asked. Otherwise Addr is
	// who connected to the event's source: a client, or what stands before the site.
	Named bool
	// Answer says that this is a packet to somebody who spoke first, as a server's are: Port
	// is then the other's choice. It is set only where it is asked for.
	Answer bool
	// Awaited says that Crawler is unknown and may soon be known: a rule that asks
	// for it counts the event and does not block yet.
	Awaited bool
	// Again says that a process before this one may have counted the event, too: it stood
	// in a log when this one began, and is read once more. So the fleet may know of it.
	Again bool
	// TurnedAway says that the status is one with which the event's server turns clients away:
	// by itself, or as it was told.
	TurnedAway bool
	// Source is the number of the source that told of it, where several are told apart.
	Source uint8
	// Hits is how many times the event is counted, which its source says; 0 is once. It
	// multiplies the costs of the rules, and a count of different values has it once.
	Hits uint16
	// Stray says that the client sent another protocol in place of a request line, so that it has neither
	// Method nor Path. 0 where it sent a request, nothing, or what its source does not tell.
	Stray Stray
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

// Stray is what a client sent that was to send an HTTP request.
type Stray uint8

// What can be told apart.
const (
	StrayBytes Stray = 1 + iota // the bytes of another protocol, such as SSH or SMB
	StrayTLS                    // a hello of TLS
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

// Field is a set of the fields of an event that a source may or may not
// supply.
type Field uint16

// The fields that a rule can match or count by.
const (
	FieldHost Field = 1 << iota
	FieldMethod
	FieldPath
	FieldAgent
	FieldStatus
	FieldPort
	FieldNode
	FieldHeader
	FieldReferer
	FieldFetchSite
	FieldCrawler
)

var fieldNames = []string{"host", "method", "path", "agent", "status", "port", "node", "header", "referer", "fetch_site", "crawler"}

// ParseField reads one field's name.
func ParseField(name string) (Field, bool) {
	i := slices.Index(fieldNames, name)
	if i < 0 {
		return 0, false
	}
	return 1 << i, true
}

// String returns the names of the fields in the set, joined by ", ".
func (f Field) String() string {
	var names []string
	for i, name := range fieldNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// VerifiedCrawler precedes the name of a crawler in the events of clients that are
// that crawler.
const VerifiedCrawler = "verified "

// CrawlerWords are what a rule can ask of a client besides a crawler's name:
// whether it is one that was verified, claims to be one and is not, claims to be
// one and cannot be verified now, or claims nothing. No crawler has such a name.
var CrawlerWords = []string{"verified", "impostor", "unknown", "none"}

// Uncounted is a request that a server answered, or that a proxy asked about,
// and that is not counted, or only by some of the rules.
//
// It holds nothing that a client wrote: Addr was parsed, and Reason is of a
// closed set.
type Uncounted struct {
	// Time is when it happened, by the node's clock; zero if it is not known,
	// which means now.
	Time time.Time
	// Addr is the client, unmapped and without a zone; the zero Addr unless it
	// is as sure as that of an [Event].
	Addr   netip.Addr
	Reason Reason
}

// Uncounter is called at the instant now on requests that are not counted. The
// slice is not empty and is valid during the call. Each request is reported once; a
// request that is counted in part is reported besides its event, which is decided
// as any other. Sensors call it on the goroutines that call their decider.
type Uncounter func(now time.Time, requests []Uncounted)

// Reason says why a request is not counted.
type Reason uint8

// The reasons. FieldCut and GapInPart are of requests that are counted in part: by the
// rules that do not need the field, or that have longer windows.
const (
	LineTooLong    Reason = iota // a log line longer than what is read of one
	LineUnended                  // a log line whose end never came
	LineMisfit                   // a log line that is not of the log's format
	FieldCut                     // the server or its log cut the path or another field short
	HeadersTooLong               // a question of a proxy over the limit of its length
	NotHTTP                      // a question of a proxy that cannot be read
	NoClient                     // the client's address is missing or cannot be read
	DecisionFailed               // the decision panicked
	LinesLost                    // log lines that were sent or written and did not arrive
	GapTooLong                   // counted by a proxy while nothing was read from it for longer than all windows
	GapInPart                    // the same, for longer than the windows of some rules
	// Reasons is how many there are.
	Reasons = iota
)

var reasonNames = [Reasons]string{
	"line_too_long", "line_unended", "line_misfit", "field_cut", "headers_too_long", "not_http", "no_client",
	"decision_failed", "lines_lost", "gap_too_long", "gap_in_part",
}

// String returns the word used in metrics and in JSON.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}
