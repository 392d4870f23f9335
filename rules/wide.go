package rules

import (
	"fmt"
	"slices"

	"edgeguard"
)

// Wide says what a rule does about IPv6 networks that are wider than its key.
// It is not part of the meter: what it counts is kept beside the key's counts.
type Wide uint8

// What may be done about wide networks.
const (
	WideDefault Wide = iota // a /56 at 16 times the limit, a /48 at 64 times
	WideOff                 // count no network wider than the key
	WideReport              // count both, and only report
	WideStrict              // as WideDefault, with the /48 at 16 times
)

var wideNames = [...]string{"default", "off", "report", "strict"}

// String returns the word used in the config.
func (w Wide) String() string {
	if int(w) < len(wideNames) {
		return wideNames[w]
	}
	return fmt.Sprintf("wide(%d)", uint8(w))
}

// The networks that are counted beside a key: what homes have, and what firms
// have and mobile carriers give to 65,536 phones (RIPE-690, RFC 6459).
const (
	homeBits, siteBits          = 56, 48
	homeTimes, siteTimes        = 16, 64
	strictTimes                 = 16
	greatestCount        uint32 = edgeguard.Slots * (edgeguard.MaxLimit + 1) // of a window whose slots are all full
)

// Width is an IPv6 network around a rule's key in which costs are added up
// besides. They are this node's alone, whatever the rule's scope.
type Width struct {
	Bits  uint8  // prefix length
	Times uint32 // how many times the rule's limit
	Limit uint32 // a count above it crosses
	// Action is what is done then: ActionBlock, ActionDeny or ActionShadow as
	// for the rule itself, or ActionAlarm, which only reports.
	Action edgeguard.Action
	// Asked says that a request without an answer may be refused for this network's count: a
	// /48 is never closed to a site of which the rule, without its status, names no part.
	Asked bool
}

// ActionName returns what is done about a network over its limit, in the config's words.
func (w *Width) ActionName() string {
	if w.Action == edgeguard.ActionAlarm {
		return "report"
	}
	return w.Action.String()
}

// fillWide finds the networks that the rule counts beside its key. It needs
// the rule's limit and action. A kind that can be forged is not counted in wide
// networks: it could only raise alarms. Nor is a key without an address.
func (c *compiler) fillWide(rule *Rule, spec *Spec, meter *Meter) {
	rule.Wide = spec.Wide
	if int(spec.Wide) >= len(wideNames) {
		c.problem("wide", flaw{fmt.Sprintf("invalid value %v", spec.Wide), "use default, off, report or strict"})
		return
	}
	if spec.Wide == WideOff || meter.Kind&edgeguard.Verifiable == 0 || meter.Everybody {
		return
	}
	home := Width{Bits: homeBits, Times: homeTimes, Action: rule.Action, Asked: true}
	site := Width{Bits: siteBits, Times: siteTimes, Action: edgeguard.ActionAlarm}
	if namesPart(&spec.Match) {
		site.Action = min(rule.Action, edgeguard.ActionDeny)
		unanswered := spec.Match
		unanswered.Status = nil
		site.Asked = namesPart(&unanswered)
	}
	switch spec.Wide {
	case WideReport:
		home.Action, site.Action = edgeguard.ActionAlarm, edgeguard.ActionAlarm
	case WideStrict:
		site.Times = strictTimes
	}
	for _, w := range []Width{home, site} {
		w.Limit = min(rule.Limit*w.Times, greatestCount-1) // at most 65,534 * 64
		if w.Bits < meter.V6 && (meter.Distinct == 0 || w.Limit <= MaxDistinct) {
			rule.Widths = append(rule.Widths, w)
		}
	}
}

// namesPart reports whether a match is about a part of a site, so that to
// refuse what matches leaves the rest of the site to everybody. A path of stars
// is the whole site, and so is a method term with GET.
func namesPart(m *Match) bool {
	return m.Status != nil ||
		m.Path != nil && !slices.ContainsFunc(m.Path, isEveryPath) ||
		m.Method != nil && !slices.Contains(m.Method, "GET")
}

// isEveryPath reports whether a pattern matches all paths.
func isEveryPath(pattern string) bool {
	stars := 0
	for i, c := range []byte(pattern) {
		if c == '*' {
			stars++
		} else if c != '/' || i > 0 {
			return false
		}
	}
	return stars > 0
}
