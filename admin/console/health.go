package console

import (
	"net/http"
	"slices"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// healthPart is a part of the node in the line that stands on every page.
type healthPart struct{ State, Text, Path string }

// inLine are the parts that stand in the line whatever their state is.
var inLine = []string{admin.PartMode, admin.PartLogs, admin.PartFleet, admin.PartLists, admin.PartMemory}

// healthLine returns the line of health: what is not well, the worst first, and the parts that
// most depends on.
func healthLine(stats *admin.Stats) (all []healthPart) {
	for _, r := range stats.Health {
		if len(r.Alarms) == 0 && !slices.Contains(inLine, r.Part) {
			continue
		}
		one := healthPart{r.State, r.Text, "/health#" + r.Part}
		if n := len(r.Alarms); n > 0 {
			one.Text += ": " + words.Plural(n, "alarm", "alarms")
		}
		all = append(all, one)
	}
	return all
}

// banner is something that an operator should act on.
type banner struct {
	Bad         bool // else it waits for a confirmation
	Text        string
	Since       moment
	Link, Label string
	Links       []link // of several
}

// mostBanners is how many stand on every page; the page of health has all.
const mostBanners = 4

// banners returns what needs an operator, the worst first, and how many alarms do.
func banners(stats *admin.Stats) (all []banner, needs int) {
	for _, r := range stats.Health {
		for _, a := range r.Alarms {
			if a.State != admin.HealthBad && !a.Awaits {
				continue
			}
			if needs++; needs <= mostBanners {
				all = append(all, banner{a.State == admin.HealthBad, a.Text, at(a.Since, stats.Time), alarmPath(r.Part, a.Kind), "Look at it", nil})
			}
		}
	}
	if more := needs - mostBanners; more > 0 {
		all = append(all, banner{true, words.Plural(more, "alarm more needs", "alarms more need") + " somebody.", at(stats.Time, stats.Time), "/health", "Look at all", nil})
	}
	return all, needs
}

// needs returns what needs an operator beside the alarms, each with what leads to its evidence.
func needs(stats *admin.Stats) (all []banner) {
	for _, n := range stats.Needs {
		one := banner{Text: n.Text, Since: at(n.Since, stats.Time)}
		for _, prefix := range n.Prefixes {
			one.Links = append(one.Links, link{Name: prefix.Addr().String(), Path: "/address/" + prefix.Addr().String() + "?view=blocked"})
		}
		if n.Rule != "" {
			one.Link, one.Label = tryPath(n.Rule, n.Threshold), "Look at what it would do"
		}
		if len(one.Links) == 1 {
			one.Link, one.Label, one.Links = one.Links[0].Path, "Look at why", nil
		}
		all = append(all, one)
	}
	return all
}

// alarmPath returns the page where something can be done about an alarm, else the part's row.
func alarmPath(part, kind string) string {
	switch {
	case kind == "fleet_held", kind == "elsewhere":
		return "/blocked/held"
	case part == admin.PartImports || part == admin.PartBouncers || part == admin.PartCrowdSec || part == admin.PartNotify || part == admin.PartLists:
		return "/neighbours"
	}
	return "/health#" + part
}

// healthPage is how each part of the node is, and what the node itself is.
type healthPage struct {
	frame
	Rows    []healthRow
	Stats   admin.Stats
	Started moment
	Logs    []logRow
}

// healthRow is one part. Of many alarms the first are shown.
type healthRow struct {
	admin.HealthRow
	Path   string // of what more there is to see
	Since  moment
	Alarms []healthAlarm
	More   int
}

type healthAlarm struct {
	admin.Alarm
	Since moment
	Path  string
}

// logRow is a log, and how far it is read.
type logRow struct {
	admin.Log
	Seen, Delay, Lag string
}

// mostAlarms is how many of a part are shown.
const mostAlarms = 20

func (p *nodeHandlers) health(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown := &healthPage{frame: p.frames.of(r, "health", "Health")}
	shown.Banners = nil // each stands in its row
	s := &shown.stats
	shown.Stats, shown.Started = *s, at(s.Started, s.Time)
	for _, one := range s.Health {
		row := healthRow{HealthRow: one, Since: at(one.Since, s.Time), Path: partPath(one.Part)}
		row.More = max(0, len(one.Alarms)-mostAlarms)
		for _, a := range one.Alarms[:len(one.Alarms)-row.More] {
			alarm := healthAlarm{Alarm: a, Since: at(a.Since, s.Time), Path: alarmPath(one.Part, a.Kind)}
			if alarm.Path == "/health#"+one.Part {
				alarm.Path = "" // it is here
			}
			row.Alarms = append(row.Alarms, alarm)
		}
		shown.Rows = append(shown.Rows, row)
	}
	for i := range s.Logs {
		l := &s.Logs[i]
		row := logRow{*l, ago(l.Last, s.Time), "–", "–"}
		if !l.Last.IsZero() {
			row.Delay, row.Lag = words.Length(seconds(l.Age)), words.Length(l.Lag(s.Time))
		}
		shown.Logs = append(shown.Logs, row)
	}
	return "health.html", shown
}

// partPath returns the page that has more of a part; "" for none.
func partPath(part string) string {
	switch part {
	case admin.PartLogs:
		return "#each-log"
	case admin.PartFleet, admin.PartClock:
		return "/fleet"
	case admin.PartLists, admin.PartImports, admin.PartBouncers, admin.PartCrowdSec, admin.PartNotify:
		return "/neighbours"
	case admin.PartBlocks:
		return "/blocked"
	case admin.PartRequests:
		return "/rules"
	}
	return ""
}
