package metrics

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/crawlers"
	"edgeguard/crowdsec"
	"edgeguard/haproxy"
	"edgeguard/notify"
)

// sink renders figures as metrics.
type sink struct{ to chan<- prometheus.Metric }

func (s sink) counter(d *prometheus.Desc, v uint64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// at sends an instant, unless it is zero.
func (s sink) at(d *prometheus.Desc, t time.Time, labels ...string) {
	if !t.IsZero() {
		s.gauge(d, float64(t.UnixMilli())/1e3, labels...)
	}
}

func (s sink) is(d *prometheus.Desc, yes bool) {
	v := 0.0
	if yes {
		v = 1
	}
	s.gauge(d, v)
}

// node sends the figures of the node as a whole.
func (s sink) node(stats *admin.Stats, rules []admin.Rule) {
	s.gauge(descBuild, 1, stats.Version, goVersion(), revision())
	s.is(descReady, stats.Ready)
	s.is(descMonitor, stats.Monitor)
	s.gauge(descDegraded, float64(len(stats.Conditions)))
	s.at(descStart, stats.Started)
	s.gauge(descAllowed, float64(stats.Allowances))
	s.gauge(descMaxBlocks, float64(stats.MaxBlocks))
	s.gauge(descStanding, float64(stats.V4+stats.V6))
	s.counter(descEvicted, stats.Evicted)
	s.counter(descForgotten, stats.Forgotten)
	s.counter(descEvents, stats.Events.Passed, "pass")
	s.counter(descEvents, stats.Events.Shadowed, "shadow")
	s.counter(descEvents, stats.Events.Denied, "deny")
	s.counter(descSpared, stats.Events.Spared)
	s.counter(descLate, stats.Events.Late)
	s.counter(descEarly, stats.Events.Early)
	s.counter(descFresh, stats.Flood.Fresh)
	s.counter(descFloods, stats.Flood.Floods)
	s.is(descFlooded, stats.Flood.Lasting)
	s.imports(&stats.Imports)
	s.elsewhere(stats.Elsewhere)
	s.crawlers(stats.Crawlers)
	s.rules(rules)
}

// imports sends what is imported of others' lists.
func (s sink) imports(all *admin.Imports) {
	s.gauge(descMostIn, float64(all.Most))
	for i := range all.Feeds {
		f := &all.Feeds[i]
		s.gauge(descImported, float64(f.Held), f.Name)
		f.Refused.Each(func(reason string, n int) { s.gauge(descNotIn, float64(n), f.Name, reason) })
	}
}

// elsewhere sends what blocks and allowances do that the node did not make: of all owners,
// and of all lists, together. An owner's name is whatever it says.
func (s sink) elsewhere(all []admin.Elsewhere) {
	type source struct{ name, kind string }
	sums := map[source]float64{}
	for _, e := range all {
		sums[source{e.Source, e.Kind}] += e.Share
	}
	for of, sum := range sums {
		s.gauge(descTheirPart, sum, of.name, of.kind)
	}
}

// crawlers sends who claimed to be a crawler; nothing without any in the config.
func (s sink) crawlers(c *crawlers.Claims) {
	if c == nil {
		return
	}
	s.counter(descClaims, c.Verified, "verified")
	s.counter(descClaims, c.Impostors, "impostor")
	s.counter(descClaims, c.Unknown, "unknown")
	s.counter(descAskedDNS, c.Asked-c.Failed, "answered")
	s.counter(descAskedDNS, c.Failed, "failed")
	s.counter(descUnasked, c.Unasked)
}

// rules sends the first rules of the config: a file may hold any number.
func (s sink) rules(rules []admin.Rule) {
	candidates := 0
	for _, r := range rules[:min(len(rules), admin.MaxLabels)] {
		s.gauge(descLimit, float64(r.Limit), r.Name)
		for _, c := range r.Crossings {
			s.counter(descCrossings, c.Count, r.Name, c.Action)
		}
		for _, w := range r.Wide {
			for _, c := range w.Crossings {
				s.counter(descWide, c.Count, r.Name, "/"+strconv.Itoa(w.Bits), c.Action)
			}
		}
		for _, c := range r.Candidates {
			if candidates++; candidates > admin.MaxLabels {
				break
			}
			threshold := strconv.FormatUint(uint64(c.Threshold), 10)
			s.counter(descWouldPass, c.Over, r.Name, threshold)
			s.counter(descWouldHit, c.Crossings, r.Name, threshold)
		}
	}
}

func (s sink) tables(t *admin.Tables) {
	s.gauge(descKeys, float64(t.Keys))
	s.gauge(descRings, float64(t.Rings))
	s.counter(descEvictions, t.Evicted, "room")
	s.counter(descEvictions, t.Expired, "idle")
	s.counter(descRefused, t.Refused)
	s.counter(descUnder, t.Undercounted)
	s.gauge(descLimitMem, float64(t.Limit))
	s.gauge(descUsedMem, float64(t.Used))
	for part, bytes := range t.Parts {
		s.gauge(descMemory, float64(bytes), part)
	}
}

// asking are the protocols of proxies that wait for an answer.
var asking = []string{"forward-auth", "spoe", "envoy"}

// sensors sends what the sensors received. Figures that share their labels are added up,
// since a scrape must not hold one metric twice.
func (s sink) sensors(stats *admin.Stats) {
	type decided struct{ source, action, rule string }
	requests, late, decisions := make(map[string]uint64), make(map[string]uint64), make(map[decided]uint64)
	for _, source := range stats.Sources {
		requests[source.Name] += source.Events
		if slices.Contains(asking, protocol(source.Name)) {
			late[source.Name] += source.Late
		}
	}
	for _, d := range stats.Decisions {
		by := decided{d.Source, d.Action, d.Rule}
		if _, known := decisions[by]; !known && len(decisions) >= admin.MaxLabels {
			by.rule = admin.OtherLabel
		}
		decisions[by] += d.Count
	}
	lines := make(map[string]admin.Log)
	for _, l := range stats.Logs {
		sum := lines[l.Name]
		lines[l.Name] = sum.Plus(&l)
	}
	for name, n := range requests {
		s.counter(descRequests, n, name)
	}
	for name, n := range late {
		s.counter(descAnsweredLate, n, name)
	}
	s.uncounted(requests, stats.Uncounted)
	for d, n := range decisions {
		s.counter(descDecisions, n, protocol(d.source), d.source, d.action, d.rule)
	}
	for name, l := range lines {
		s.counter(descLines, l.Parsed, name, "parsed")
		s.counter(descLines, l.Skipped, name, "skipped")
		s.counter(descLines, l.Lost, name, "lost")
		s.counter(descLines, l.Refused, name, "refused")
		s.counter(descUnsent, l.Dropped, name)
		s.counter(descBecame, l.TurnedAway, name, "turned_away")
		s.counter(descBecame, l.Served, name, "served")
		s.counter(descLogTimes, l.Late, name, "late")
		s.counter(descLogTimes, l.Early, name, "early")
		s.gauge(descBehind, float64(l.Behind), name)
		s.counter(descLostBytes, l.LostBytes, name)
		s.counter(descTurned, l.Rotations, name, "renamed")
		s.counter(descTurned, l.Truncations, name, "emptied")
		s.counter(descTurned, l.Gaps, name, "gone")
	}
}

// uncounted sends every reason of every source, so that the first one of a kind
// is seen as a change.
func (s sink) uncounted(sources map[string]uint64, all []admin.Uncounted) {
	type cause struct{ source, reason string }
	counts := make(map[cause]uint64)
	for source := range sources {
		for reason := range edgeguard.Reason(edgeguard.Reasons) {
			counts[cause{source, reason.String()}] = 0
		}
	}
	for _, u := range all {
		counts[cause{u.Source, u.Reason}] += u.Count
	}
	for c, n := range counts {
		s.counter(descUncounted, n, c.source, c.reason)
	}
}

// haproxies sends the listeners for HAProxies, each with its address.
func (s sink) haproxies(all []haproxy.ListenerFigures) {
	for _, l := range all {
		s.gauge(descHAProxies, float64(len(l.HAProxies)), l.Address)
		s.counter(descLearned, l.Updates, l.Address, "received")
		s.counter(descLearned, l.Taught, l.Address, "taught")
		s.counter(descTurnedOff, l.Strangers, l.Address, "stranger")
		s.counter(descTurnedOff, l.Refused, l.Address, "hello")
	}
}

// bouncers sends those of CrowdSec, each by its key's name.
func (s sink) bouncers(all *admin.BouncerFigures) {
	if all == nil {
		return
	}
	var limited uint64
	for _, b := range all.Bouncers {
		s.counter(descPulls, b.Pulls, b.Name)
		s.counter(descServed, b.Served, b.Name)
		s.at(descPulled, b.LastPull, b.Name)
		limited += b.Limited
	}
	s.counter(descBounced, all.Refused, "key")
	s.counter(descBounced, limited, "too_much")
}

// crowdsec sends what is taken from a LAPI, and what is reported to one.
func (s sink) crowdsec(f *crowdsec.Figures) {
	if f == nil {
		return
	}
	if in := f.Decisions; in != nil {
		s.counter(descLAPIAnswers, in.Answers, "ok")
		s.counter(descLAPIAnswers, in.Failures, "failed")
		for _, one := range []struct {
			reason string
			n      uint64
		}{
			{"type", in.Skipped.Types}, {"scope", in.Skipped.Scopes}, {"ours", in.Skipped.Ours},
			{"filtered", in.Skipped.Filtered}, {"invalid", in.Skipped.Invalid}, {"no_room", in.Skipped.NoRoom},
		} {
			s.gauge(descLAPISkipped, float64(one.n), one.reason)
		}
	}
	if out := f.Alerts; out != nil {
		s.counter(descLAPIAlerts, out.Sent, "sent")
		s.counter(descLAPIAlerts, out.Dropped, "dropped")
		s.counter(descLAPIAlerts, out.Refused, "refused")
		s.gauge(descLAPIWaiting, float64(out.Waiting))
	}
}

// enforcers sends each enforcer once: the first of a name.
func (s sink) enforcers(all []admin.Enforcer) {
	seen := make(map[string]bool)
	for _, e := range all {
		if seen[e.Name] {
			continue
		}
		seen[e.Name] = true
		s.counter(descOps, e.Updates, e.Name, "update", "ok")
		s.counter(descOps, e.Failures, e.Name, "update", "error")
		s.gauge(descEntries, float64(e.Intended), e.Name, "intended")
		s.gauge(descEntries, float64(e.Installed), e.Name, "installed")
		s.gauge(descEntries, float64(e.Withheld), e.Name, "withheld")
		if p := e.Packets; p != nil {
			s.counter(descPackets, p.Dropped, e.Name, "dropped")
			s.counter(descPackets, p.Passed, e.Name, "passed")
		}
		s.gauge(descFailing, float64(e.Failing), e.Name)
		s.at(descEnforced, e.Success, e.Name)
	}
}

// notified sends the receivers of notifications, which have different names.
func (s sink) notified(all []notify.Figures) {
	for _, r := range all {
		s.counter(descNotified, r.Sent, r.Name, "sent")
		s.counter(descNotified, r.Failed, r.Name, "failed")
		s.counter(descUnnotified, r.Dropped, r.Name)
		s.gauge(descNotifying, float64(r.Waiting), r.Name)
		s.at(descNotifiedAt, r.Success, r.Name)
	}
}

// state sends what is on disk: snapshot and config.
func (s sink) state(stats *admin.Stats) {
	if snap := stats.Snapshot; snap != nil {
		s.counter(descSnapshots, snap.Written, "ok")
		s.counter(descSnapshots, snap.Failures, "error")
		s.gauge(descSize, float64(snap.Bytes))
		s.at(descSaved, snap.Success)
	}
	if r := stats.Reload; r != nil {
		s.is(descReloaded, r.OK)
		s.at(descReloadAt, r.Success)
	}
}

func (s sink) standing(count map[standingBy]int, action string) {
	for by, n := range count {
		s.gauge(descBlocked, float64(n), by.Rule, action, by.Origin, by.family)
	}
}

func (s sink) happened(h admin.Happened, action string) {
	for by, n := range h.Made {
		s.counter(descBlocks, n, by.Rule, action, by.Origin)
	}
	for reason, n := range h.Lifted {
		s.counter(descUnblocks, n, reason)
	}
	for kind, n := range h.Alarms {
		s.counter(descAlarms, n, kind)
	}
	s.counter(descDropped, h.Dropped)
	s.gauge(descStreams, float64(h.Streams))
}
