package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

const (
	// shareEvery is the span over which the share of uncounted requests is
	// measured, and leastUncounted how many must be in it for an alarm.
	shareEvery     = time.Minute
	leastUncounted = 10
	// mostShown is how many addresses an alarm names.
	mostShown = 3
)

// reasonCounts counts the uncounted requests of one source by their reason.
type reasonCounts [edgeguard.Reasons]atomic.Uint64

// sum returns the sum of all reasons, and of those whose requests the source
// counts as events, too.
func (c *reasonCounts) sum() (all, events uint64) {
	for reason := range edgeguard.Reason(edgeguard.Reasons) {
		n := c[reason].Load()
		all += n
		switch reason {
		case edgeguard.FieldCut, edgeguard.DecisionFailed, edgeguard.GapInPart:
			events += n
		}
	}
	return all, events
}

// most returns the reason with the highest count.
func (c *reasonCounts) most() edgeguard.Reason {
	var most edgeguard.Reason
	for reason := range edgeguard.Reason(edgeguard.Reasons) {
		if c[reason].Load() > c[most].Load() {
			most = reason
		}
	}
	return most
}

// UncountedRequests counts the requests that some or all rules do not count, and
// raises the alarms about them. It is safe for concurrent use.
type UncountedRequests struct {
	Current func() *pipeline.Generation
	List    *blocklist.List
	Alarms  *alarm.Tracker
	Sources func() []admin.Source // how many events each source counted

	mu     sync.Mutex // guards by and unseen
	by     map[string]*reasonCounts
	unseen unseen

	spans  map[string]span // housekeeping's: each source's figures when the span began
	judged time.Time       // housekeeping's: when the span began
}

// span is how many requests a source had and how many of them were not counted.
type span struct{ requests, uncounted uint64 }

// of returns the counts of a source.
func (u *UncountedRequests) of(source string) *reasonCounts {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.by[source]
	if c == nil {
		if u.by == nil {
			u.by = make(map[string]*reasonCounts)
		}
		c = new(reasonCounts)
		u.by[source] = c
	}
	return c
}

// Missed counts requests of a source of which nothing but their number is known.
func (u *UncountedRequests) Missed(source string, reason edgeguard.Reason, requests uint64) {
	u.of(source)[reason].Add(requests)
}

// Figures returns the counts that are not zero, in a fixed order.
func (u *UncountedRequests) Figures() []admin.Uncounted {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []admin.Uncounted
	for source, counts := range u.by {
		for reason := range edgeguard.Reason(edgeguard.Reasons) {
			if n := counts[reason].Load(); n > 0 {
				out = append(out, admin.Uncounted{Source: source, Reason: reason.String(), Count: n})
			}
		}
	}
	slices.SortFunc(out, func(a, b admin.Uncounted) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// Uncounter returns what a source calls with requests that it cannot count.
func (u *UncountedRequests) Uncounter(source string) edgeguard.Uncounter {
	counts := u.of(source)
	return func(now time.Time, requests []edgeguard.Uncounted) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.unseen.goBy(boundOf(u.Current().Config.Rules))
		for i := range requests {
			r := &requests[i]
			counts[r.Reason].Add(1)
			if !u.spares(now, r) {
				u.unseen.add(now, r)
			}
		}
	}
}

// spares reports whether a request's address is exempt and never counted.
func (u *UncountedRequests) spares(now time.Time, r *edgeguard.Uncounted) bool {
	if !r.Addr.IsValid() {
		return false
	}
	standing, _ := u.List.Find(now, r.Addr)
	return standing == blocklist.Allowed || standing == blocklist.Protected
}

// Check raises the alarms about requests that are not counted: where they are
// many of a source's, and where one address makes more of them than the lowest
// limit allows. An attacker cannot hide from the second among many other
// requests.
func (u *UncountedRequests) Check(now time.Time) {
	u.mu.Lock()
	u.unseen.goBy(boundOf(u.Current().Config.Rules))
	over, window, limit := u.unseen.over(now), u.unseen.bound.window(), u.unseen.bound.limit
	total, crowd := u.unseen.crowd(now)
	u.mu.Unlock()
	switch {
	case len(over) > 0:
		u.Alarms.Begins(now, alarm.UncountedAddress, "", fmt.Sprintf(
			"requests of one address are not counted: %s in the last %.0f min, over the lowest limit of the rules, %d: %s. Until then, block it with `edgeguard blocks add`",
			shownOffenders(over), window.Minutes(), limit, fixes[over[0].reason]))
	case crowd:
		u.Alarms.Begins(now, alarm.UncountedAddress, "", fmt.Sprintf(
			"%d requests of the last %.0f min were not counted, from so many addresses that one over a limit could hide among them: see `uncounted` in /api/v1/status for the reasons",
			total, window.Minutes()))
	default:
		u.Alarms.Ends(alarm.UncountedAddress, "")
	}
	if now.Sub(u.judged) >= shareEvery {
		u.judged = now
		u.judgeShares(now, u.Sources())
	}
}

// judgeShares compares each source's figures with those of one span ago.
func (u *UncountedRequests) judgeShares(now time.Time, sources []admin.Source) {
	spans := make(map[string]span)
	for _, s := range sources {
		is := spans[s.Name] // a file may be followed twice, for different kinds
		is.requests += s.Events
		spans[s.Name] = is
	}
	for source, is := range spans {
		counts := u.of(source)
		all, events := counts.sum()
		is.uncounted, is.requests = all, is.requests+all-min(all, events)
		spans[source] = is
		was := u.spans[source]
		missed, requests := is.uncounted-was.uncounted, is.requests-min(is.requests, was.requests)
		if missed < leastUncounted || 100*missed <= requests {
			u.Alarms.Ends(alarm.Uncounted, source)
			continue
		}
		u.Alarms.Begins(now, alarm.Uncounted, source, fmt.Sprintf("%s: %d of the last minute's %d requests were not counted: %s",
			source, missed, max(missed, requests), fixes[counts.most()]))
	}
	for source := range u.spans {
		if _, known := spans[source]; !known {
			u.Alarms.Ends(alarm.Uncounted, source)
		}
	}
	u.spans = spans
}

// shownOffenders names the worst. Addresses are parsed: no text of a client is
// shown.
func shownOffenders(over []offender) string {
	var names []string
	for _, o := range over[:min(len(over), mostShown)] {
		names = append(names, fmt.Sprintf("%v %d", edgeguard.Key{Prefix: o.prefix}, o.count))
	}
	text := strings.Join(names, ", ")
	if more := len(over) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// fixes is what to do about each reason.
var fixes = [edgeguard.Reasons]string{
	edgeguard.LineTooLong:    "their log lines are too long: lower the server's limit for request headers",
	edgeguard.LineUnended:    "their log lines have no end: write the log to a file and follow it",
	edgeguard.LineMisfit:     "their log lines do not match the log's format: set `format` (`edgeguard doctor` shows a line)",
	edgeguard.FieldCut:       "the path or another field was cut short: HAProxy needs both `log … len 65535` and `tune.http.logurilen 16384`, other servers a lower limit for request headers",
	edgeguard.HeadersTooLong: "their headers are over 16 KiB in forward auth, or a question of Envoy over 192 KiB: lower the proxy's own limit for request headers, or have it send less of the client's",
	edgeguard.NotHTTP:        "what was asked at listen.auth or listen.envoy cannot be read: check which program connects",
	edgeguard.NoClient:       "they name no client: set the log's `format`, or compare a proxy's config with `edgeguard snippets`",
	edgeguard.DecisionFailed: "the decision panicked: report it with the alarm's text",
	edgeguard.LinesLost:      "log lines were lost, maybe more: " + linesFix,
	edgeguard.GapTooLong:     "HAProxy counted them while edgeguard was away, and the windows of the rules were over: " + gapFix,
	edgeguard.GapInPart:      "HAProxy counted them while edgeguard was away, and the windows of some rules were over: " + gapFix,
}

// gapFix is what keeps the gaps short.
const gapFix = "restart edgeguard in less time; or HAProxy is reloaded again and again without its old process teaching the new one: put its own line into the section `peers`, as `edgeguard snippets haproxy-peers` prints it"
