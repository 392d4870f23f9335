package metrics

import (
	"maps"
	"slices"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/crawlers"
	"edgeguard/haproxy"
)

// sensorParts are where events come from, and what is known of who sends them.
var sensorParts = []part{
	each(sources,
		counter("requests_total", "Events received from a source.", "source", func(o admin.Source, to series) { add(to, o.Events, o.Name) }),
		counter("questions_refused_total", "Questions of proxies that were answered with a refusal.", "source", func(o admin.Source, to series) {
			addIf(slices.Contains(asking, protocol(o.Name)), to, o.Refused, o.Name)
		}),
		counter("late_answers_total", "Questions answered after the proxy had stopped waiting, at least.", "source", func(o admin.Source, to series) {
			addIf(slices.Contains(asking, protocol(o.Name)), to, o.Late, o.Name)
		}),
		counter("packets_uncounted_total", "Packets of an interface that made no event: malformed, or dropped by the kernel.", "source result", func(o admin.Source, to series) {
			if protocol(o.Name) == "packets" {
				addBy(to, by{{"malformed", o.Malformed}, {"dropped", o.Dropped}}, o.Name)
			}
		}),
	),
	each(theNode,
		counter("uncounted_total", "Requests not counted, or by some rules only.", "source reason", func(s *scrape, to series) {
			for c, n := range uncounted(s) {
				add(to, n, c.source, c.reason)
			}
		}),
		counter("decisions_total", "Verdicts on requests, by the source that counts them.", "protocol source action rule", func(s *scrape, to series) {
			for d, n := range decisions(s) {
				add(to, n, protocol(d.source), d.source, d.action, d.rule)
			}
		}),
	),
	each(logs,
		counter("log_lines_total", "Log lines: parsed, skipped, suppressed (by a daemon's limit), lost (by a unix datagram socket, at least), or refused (UDP of a stranger, or without a header).",
			"source result", func(l admin.Log, to series) {
				addBy(to, by{{"parsed", l.Parsed}, {"skipped", l.Skipped}, {"suppressed", l.Suppressed}, {"lost", l.Lost}, {"refused", l.Refused}}, l.Name)
			}),
		counter("log_haproxy_dropped_total", "Lines that HAProxy says it could not send: at most so many are lost.", "source",
			func(l admin.Log, to series) { add(to, l.Dropped, l.Name) }),
		gauge("log_behind_bytes", "Bytes of a followed log not read yet.", "source", func(l admin.Log, to series) { add(to, l.Behind, l.Name) }),
		counter("log_lost_bytes_total", "Bytes of a followed log that disappeared before they were read.", "source", func(l admin.Log, to series) { add(to, l.LostBytes, l.Name) }),
		counter("log_rotations_total", "Rotations of a followed log: renamed, emptied in place (which may lose lines), or gone before it was read to its end.",
			"source how", func(l admin.Log, to series) {
				addBy(to, by{{"renamed", l.Rotations}, {"emptied", l.Truncations}, {"gone", l.Gaps}}, l.Name)
			}),
		counter("log_denied_lines_total", "Parsed lines to be refused, by what their server did: turned_away or served.", "source result",
			func(l admin.Log, to series) {
				addBy(to, by{{"turned_away", l.TurnedAway}, {"served", l.Served}}, l.Name)
			}),
		counter("log_untimely_lines_total", "Parsed lines older than the default window (late), or from the future (early).",
			"source how", func(l admin.Log, to series) { addBy(to, by{{"late", l.Late}, {"early", l.Early}}, l.Name) }),
	),
	each(func(s *scrape) []*crawlers.Claims { return some(s.Crawlers) },
		counter("crawler_claims_total", "Events whose agent claims to be a crawler: verified, impostor or unknown.",
			"crawler", func(c *crawlers.Claims, to series) {
				addBy(to, by{{"verified", c.Verified}, {"impostor", c.Impostors}, {"unknown", c.Unknown}})
			}),
		counter("crawler_dns_total", "Claimants that DNS was asked about: answered, or failed to say.", "result", func(c *crawlers.Claims, to series) {
			addBy(to, by{{"answered", c.Asked - c.Failed}, {"failed", c.Failed}})
		}),
		counter("crawler_unasked_total", "Events of claimants for whom DNS had no room.", "", func(c *crawlers.Claims, to series) { add(to, c.Unasked) }),
	),
	each(func(s *scrape) []haproxy.ListenerFigures { return s.HAProxies },
		gauge("haproxies", "HAProxies that are connected by the peers protocol.", "listener", func(l haproxy.ListenerFigures, to series) { add(to, len(l.HAProxies), l.Address) }),
		counter("haproxy_entries_total", "Entries of stick tables: received from HAProxies, or taught to them.", "listener direction", func(l haproxy.ListenerFigures, to series) {
			addBy(to, by{{"received", l.Updates}, {"taught", l.Taught}}, l.Address)
		}),
		counter("haproxy_refused_total", "Connections of HAProxies that were refused: stranger (another user, no certificate) or hello (wrong name or version, too many).",
			"listener reason", func(l haproxy.ListenerFigures, to series) {
				addBy(to, by{{"stranger", l.Strangers}, {"hello", l.Refused}}, l.Address)
			}),
	),
}

// asking are the protocols of proxies that wait for an answer.
var asking = []string{"forward-auth", "spoe", "envoy"}

// sources returns them by name. Figures that share their labels are added up, here and
// below, since a scrape must not hold one metric twice.
func sources(s *scrape) []admin.Source {
	sums := make(map[string]admin.Source)
	for _, o := range s.Sources {
		sum := sums[o.Name]
		sums[o.Name] = admin.Source{
			Name: o.Name, Events: sum.Events + o.Events, Refused: sum.Refused + o.Refused, Late: sum.Late + o.Late,
			Malformed: sum.Malformed + o.Malformed, Dropped: sum.Dropped + o.Dropped,
		}
	}
	return slices.Collect(maps.Values(sums))
}

func logs(s *scrape) []admin.Log {
	sums := make(map[string]admin.Log)
	for i := range s.Logs {
		l := &s.Logs[i]
		sums[l.Name] = sums[l.Name].Plus(l)
	}
	return slices.Collect(maps.Values(sums))
}

type decided struct{ source, action, rule string }

// decisions returns the verdicts of each source, those of its rules that have not come yet included, as
// many as are counted apart.
func decisions(s *scrape) map[decided]uint64 {
	sums, refuse := make(map[decided]uint64), "deny"
	if s.Monitor {
		refuse = "shadow"
	}
	for _, d := range s.Decisions {
		one := decided{d.Source, d.Action, d.Rule}
		if _, known := sums[one]; !known && len(sums) >= admin.MaxLabels {
			one.rule = admin.OtherLabel
		}
		sums[one] += d.Count
	}
	for i := range s.Sources {
		for j := range s.rules {
			action := refuse
			if s.rules[j].Action == edgeguard.ActionShadow.String() {
				action = "shadow"
			}
			if one := (decided{s.Sources[i].Name, action, s.rules[j].Name}); len(sums) < admin.MaxLabels {
				sums[one] += 0
			}
		}
	}
	return sums
}

type cause struct{ source, reason string }

// uncounted returns every reason of every source, so that the first one of a kind
// is seen as a change.
func uncounted(s *scrape) map[cause]uint64 {
	sums := make(map[cause]uint64, len(s.Sources)*edgeguard.Reasons)
	for _, source := range s.Sources {
		for reason := range edgeguard.Reason(edgeguard.Reasons) {
			sums[cause{source.Name, reason.String()}] = 0
		}
	}
	for _, u := range s.Uncounted {
		sums[cause{u.Source, u.Reason}] += u.Count
	}
	return sums
}
