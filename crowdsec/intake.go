package crowdsec

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist/imported"
	"edgeguard/internal/safetext"
)

// How the decisions of a CrowdSec LAPI become what a node blocks, and how much of an answer it
// believes.

// ours is the origin of decisions that edgeguard reports to a LAPI or serves as one, and the
// beginning of their scenarios. They are not taken back: a block would outlive its own end.
const ours = "edgeguard"

const (
	// mostReason is the longest reason of a block, in bytes.
	mostReason = 96
	// mostReasons is how many different reasons an answer may have. A list has a dozen, and
	// whoever writes one must not fill memory with them.
	mostReasons = 512
	// otherReason is that of the rest.
	otherReason = "a decision of CrowdSec"
)

// Filter says which decisions are taken. Its texts are in small letters.
type Filter struct {
	Origins       []string // only these, unless it is empty
	Containing    []string // only scenarios that contain one of these, unless it is empty
	NotContaining []string // no scenarios that contain one of these
	Most          int      // that may be held
	// Holds reports whether a prefix is held. Nil says so of all.
	Holds func(netip.Prefix) bool
}

func (f *Filter) holds(p netip.Prefix) bool { return f.Holds == nil || f.Holds(p) }

// Answer is what one answer of a LAPI says. It is not safe for concurrent use.
type Answer struct {
	Whole   bool // Add is all that the LAPI has, and Gone is not kept
	Add     []imported.Entry
	Gone    []netip.Prefix // of what is held
	Skipped Skipped

	filter  *Filter
	now     time.Time
	reasons map[[2]string]string
}

// Answer begins an answer, whole or of changes, that was asked for at an instant.
func (f *Filter) Answer(now time.Time, whole bool) *Answer {
	return &Answer{Whole: whole, filter: f, now: now, reasons: make(map[[2]string]string)}
}

// Added takes a decision that is in force.
func (a *Answer) Added(d *Decision) {
	prefix, ok := a.prefix(d)
	if !ok {
		return
	}
	left, err := time.ParseDuration(d.Duration)
	switch {
	case strings.EqualFold(d.Origin, ours), strings.HasPrefix(d.Scenario, ours+"/"):
		a.Skipped.Ours++
	case !a.filter.takes(d):
		a.Skipped.Filtered++
	case err != nil || left <= 0:
		a.Skipped.Invalid++
	case len(a.Add) >= a.filter.Most:
		a.Skipped.NoRoom++
	default:
		a.Add = append(a.Add, imported.Entry{Prefix: prefix, Until: until(a.now, left), Reason: a.reason(d)})
	}
}

// Deleted takes a decision that has ended. Its origin does not matter: where several had the
// same value, a LAPI names any of them, and only when none is left.
func (a *Answer) Deleted(d *Decision) {
	if a.Whole {
		return // what it lacks has ended
	}
	if prefix, ok := a.prefix(d); ok && len(a.Gone) <= a.filter.Most && a.filter.holds(prefix) {
		a.Gone = append(a.Gone, prefix)
	}
}

// DropBeyondRoom leaves out what is new and has no room beside so many that are held. It is for what is
// applied: an answer that replaces all has Most at most.
func (a *Answer) DropBeyondRoom(held int) {
	room := a.filter.Most - held + len(a.Gone)
	a.Add = slices.DeleteFunc(a.Add, func(e imported.Entry) bool {
		if a.filter.holds(e.Prefix) {
			return false
		}
		room--
		if room < 0 {
			a.Skipped.NoRoom++
		}
		return room < 0
	})
}

// prefix returns what a ban is about.
func (a *Answer) prefix(d *Decision) (netip.Prefix, bool) {
	if !strings.EqualFold(d.Type, "ban") {
		a.Skipped.Types++
		return netip.Prefix{}, false
	}
	if !strings.EqualFold(d.Scope, "ip") && !strings.EqualFold(d.Scope, "range") {
		a.Skipped.Scopes++
		return netip.Prefix{}, false
	}
	prefix, ok := parse(d.Value)
	if !ok {
		a.Skipped.Invalid++
	}
	return prefix, ok
}

// parse reads an address or a range, of either scope.
func parse(value string) (netip.Prefix, bool) {
	if strings.Contains(value, "/") {
		p, err := netip.ParsePrefix(value)
		if err != nil || p.Addr().Is4In6() {
			return netip.Prefix{}, false
		}
		return p.Masked(), true
	}
	addr, err := netip.ParseAddr(value)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, false
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), true
}

// takes reports whether the config takes a decision.
func (f *Filter) takes(d *Decision) bool {
	if len(f.Origins) > 0 && !slices.Contains(f.Origins, strings.ToLower(d.Origin)) {
		return false
	}
	if len(f.Containing)+len(f.NotContaining) == 0 {
		return true
	}
	scenario := strings.ToLower(d.Scenario)
	contains := func(part string) bool { return strings.Contains(scenario, part) }
	return (len(f.Containing) == 0 || slices.ContainsFunc(f.Containing, contains)) && !slices.ContainsFunc(f.NotContaining, contains)
}

// round is to what the ends of decisions are rounded up. A LAPI says how long they last from the
// moment at which it writes each: without it every whole answer would move every end, and with
// that every list of every enforcer. When one ends, the LAPI says so.
const round = time.Minute

// until returns the end of what lasts so long.
func until(now time.Time, left time.Duration) time.Time {
	if left > edgeguard.Forever.Sub(now) {
		return edgeguard.Forever
	}
	end := now.Add(left)
	if down := end.Truncate(round); down.Before(end) {
		end = down.Add(round)
	}
	return end
}

// reason returns a text for people: who made the decision, and why.
func (a *Answer) reason(d *Decision) string {
	key := [2]string{d.Origin, d.Scenario}
	text, known := a.reasons[key]
	if !known {
		if len(a.reasons) >= mostReasons {
			return otherReason
		}
		text = safetext.Strip(d.Origin + ": " + d.Scenario)
		if len(text) > mostReason {
			text = cut(text)
		}
		a.reasons[key] = text
	}
	return text
}

// cut shortens a text to mostReason bytes, and not inside a character.
func cut(text string) string {
	end := 0
	for i := range text {
		if i > mostReason {
			break
		}
		end = i
	}
	return text[:end]
}
