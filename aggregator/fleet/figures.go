package fleet

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"edgeguard/aggregator"
)

// What a fleet's nodes say of their work while a page about the fleet is open on one of them.
// That node's heartbeat says that it looks. The others then write their figures into Redis
// every few seconds, each under its name; the node that looks reads them by the names that it
// knows. While no node looks there is nothing in Redis, and no command is sent for it.
//
// In a fleet without a key, anybody who can write to Redis can write figures. They
// are bounded and checked here, and decide nothing.

// Figures are what one run of a node did lately.
type Figures struct {
	Boot string `json:"boot"` // the run's, as in its heartbeat
	At   int64  `json:"at"`   // unix milliseconds, by Redis' clock
	// Blocks were made by this node in the last minute, by its rules or by hand.
	// Refused is how many events a second it refused.
	Blocks  uint32  `json:"blocks"`
	Refused float64 `json:"refused"`
	Memory  float64 `json:"memory"` // the part of the memory for counts that is used
	Alarms  uint16  `json:"alarms"` // that last
	Rules   string  `json:"rules"`  // a digest of the rules in force
	// Attacks are what the node tells of its attacks, as package attack writes and reads it.
	Attacks string `json:"attacks,omitempty"`
	// Spans are those that were asked for.
	Spans []SpanFigures `json:"spans,omitempty"`
}

// The bounds of what is accepted. MostFigures is the bytes of a text, with its MAC; a node
// writes less than 200, up to mostAttacks of its attacks, and up to mostOfSpans of what it did in spans.
const (
	MostFigures = 256 + 2*mostAttacks + mostOfSpans // an escaped character takes two
	mostAttacks = 4 << 10
	mostOfSpans = 8 << 10
	spanRules   = 8
	ruleLength  = 64
	mostAMinute = 1e12
	mostRefused = 1e9
	mostMemory  = 100
	bootLength  = 16
	digestLong  = 16
)

// Encode returns the text of figures at an instant, by Redis' clock.
func (f Figures) Encode(at time.Time) string {
	f.At = at.UnixMilli()
	f.Refused = math.Round(min(f.Refused, mostRefused)*10) / 10
	f.Memory = math.Round(min(f.Memory, mostMemory)*1000) / 1000
	f.Spans = fitting(f.Spans)
	if said, _ := json.Marshal(f.Attacks); len(said) > 2*mostAttacks+len(`""`) {
		f.Attacks = "" // rules with odd names, of which a character takes six
	}
	text, _ := json.Marshal(f) // no field of it can fail
	return string(text)
}

// parseFigures reads a text, and reports whether a node can have written it.
func parseFigures(text string) (f Figures, ok bool) {
	if len(text) > MostFigures || json.Unmarshal([]byte(text), &f) != nil {
		return Figures{}, false
	}
	within := f.Refused >= 0 && f.Refused <= mostRefused && f.Memory >= 0 && f.Memory <= mostMemory
	valid := !slices.ContainsFunc(f.Spans, func(s SpanFigures) bool { return !s.valid() })
	return f, within && isHex(f.Boot, bootLength) && isHex(f.Rules, digestLong) && len(f.Attacks) <= mostAttacks && len(f.Spans) <= aggregator.MostSpans && valid
}

// isHex reports whether a text is so many lower-case hex digits.
func isHex(text string, length int) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(text) == length
}
