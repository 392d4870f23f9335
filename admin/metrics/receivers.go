package metrics

import (
	"cmp"
	"maps"
	"slices"

	"edgeguard/admin"
	"edgeguard/crowdsec"
	"edgeguard/notify"
)

// receiverParts are who is given the blocks: enforcers, receivers of notifications,
// bouncers and a LAPI, with what is taken from one.
var receiverParts = []part{
	each(enforcers,
		counter("enforcer_operations_total", "Calls of an enforcer.", "enforcer op result", func(e *admin.Enforcer, to series) {
			addBy(to, by{{"ok", e.Updates}, {"error", e.Failures}}, e.Name, "update")
		}),
		gauge("enforcer_entries", "Entries of an enforcer's list: intended, installed, withheld (from the kernel behind a proxy, from HAProxy for want of room). Never added up; 0 where another node keeps the list.",
			"enforcer state", func(e *admin.Enforcer, to series) {
				addBy(to, by{{"intended", uint64(e.Intended)}, {"installed", uint64(e.Installed)}, {"withheld", uint64(e.Withheld)}}, e.Name)
			}),
		counter("enforcer_packets_total", "Packets of blocked addresses that enforce.nftables dropped, or that passed in a dry run. Anyone can send them in another's name.",
			"enforcer result", func(e *admin.Enforcer, to series) {
				if p := e.Packets; p != nil {
					addBy(to, by{{"dropped", p.Dropped}, {"passed", p.Passed}}, e.Name)
				}
			}),
		gauge("enforcer_failing", "Failures of an enforcer since its last success.", "enforcer", func(e *admin.Enforcer, to series) { add(to, e.Failing, e.Name) }),
		gauge("enforcer_last_success_timestamp_seconds", "When an enforcer last succeeded.", "enforcer",
			func(e *admin.Enforcer, to series) { at(to, e.Success, e.Name) }),
	),
	each(func(s *scrape) []notify.Figures { return s.Notified },
		counter("notifications_total", "Posts to receivers of notifications: sent or failed.", "receiver result",
			func(r notify.Figures, to series) { addBy(to, by{{"sent", r.Sent}, {"failed", r.Failed}}, r.Name) }),
		counter("notifications_dropped_total", "Blocks and alarms that a receiver did not accept.", "receiver",
			func(r notify.Figures, to series) { add(to, r.Dropped, r.Name) }),
		gauge("notifications_waiting", "Blocks that wait for the next message, or the active alerts.", "receiver",
			func(r notify.Figures, to series) { add(to, r.Waiting, r.Name) }),
		gauge("notifications_last_success_timestamp_seconds", "When a receiver last accepted a notification.", "receiver",
			func(r notify.Figures, to series) { at(to, r.Success, r.Name) }),
	),
	each(func(s *scrape) []admin.BouncerFigure { return cmp.Or(s.Bouncers, &admin.BouncerFigures{}).Bouncers },
		counter("bouncer_pulls_total", "Times that a bouncer was told what to block.", "bouncer", func(b admin.BouncerFigure, to series) { add(to, b.Pulls, b.Name) }),
		counter("bouncer_decisions_total", "Decisions that a bouncer was sent.", "bouncer", func(b admin.BouncerFigure, to series) { add(to, b.Served, b.Name) }),
		gauge("bouncer_last_pull_timestamp_seconds", "When a bouncer last asked.", "bouncer", func(b admin.BouncerFigure, to series) { at(to, b.LastPull, b.Name) }),
	),
	each(func(s *scrape) []*admin.BouncerFigures { return some(s.Bouncers) },
		counter("bouncer_refused_total", "Requests of bouncers that were refused: key (wrong) or too_much.",
			"reason", func(f *admin.BouncerFigures, to series) {
				var limited uint64
				for _, b := range f.Bouncers {
					limited += b.Limited
				}
				addBy(to, by{{"key", f.Refused}, {"too_much", limited}})
			}),
	),
	each(func(s *scrape) []*crowdsec.Incoming { return some(cmp.Or(s.CrowdSec, &crowdsec.Figures{}).Decisions) },
		counter("crowdsec_answers_total", "Answers of the LAPI whose decisions are taken: ok or failed.", "result",
			func(in *crowdsec.Incoming, to series) { addBy(to, by{{"ok", in.Answers}, {"failed", in.Failures}}) }),
		gauge("crowdsec_decisions_skipped", "Decisions that were not taken: type (no ban), scope (no address or range), ours, filtered (by the config), invalid, no_room.",
			"reason", func(in *crowdsec.Incoming, to series) {
				addBy(to, by{{"type", in.Skipped.Types}, {"scope", in.Skipped.Scopes}, {"ours", in.Skipped.Ours}, {"filtered", in.Skipped.Filtered}, {"invalid", in.Skipped.Invalid}, {"no_room", in.Skipped.NoRoom}})
			}),
	),
	each(func(s *scrape) []*crowdsec.Outgoing { return some(cmp.Or(s.CrowdSec, &crowdsec.Figures{}).Alerts) },
		counter("crowdsec_alerts_total", "Blocks reported to the LAPI: sent, dropped (too many waited), or refused.",
			"result", func(out *crowdsec.Outgoing, to series) {
				addBy(to, by{{"sent", out.Sent}, {"dropped", out.Dropped}, {"refused", out.Refused}})
			}),
		gauge("crowdsec_alerts_waiting", "Blocks that wait to be reported to a LAPI.", "", func(out *crowdsec.Outgoing, to series) { add(to, out.Waiting) }),
	),
}

// enforcers returns each once: the first of a name.
func enforcers(s *scrape) []*admin.Enforcer {
	first := make(map[string]*admin.Enforcer)
	for i, e := range slices.Backward(s.Enforcers) {
		first[e.Name] = &s.Enforcers[i]
	}
	return slices.Collect(maps.Values(first))
}
