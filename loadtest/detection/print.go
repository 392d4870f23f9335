package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/safetext"
)

// judged is one set of rules with all that was found of it.
type judged struct {
	ruleset
	byLog  []figures
	all    figures
	scenes []sceneFigures
}

// printSummary prints one line for each set of rules.
func printSummary(out io.Writer, sets []judged) {
	fmt.Fprintf(out, "| rules | attackers of %d or more requests | attackers | benign blocked | unknown blocked | median, p90 to the block | generated traffic blocked |\n", busy)
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for _, s := range sets {
		f := &s.all
		blocked, addresses := s.generated()
		fmt.Fprintf(out, "| %s | %d of %d | %d of %d | %d of %d | %d | %s | %d of %d addresses |\n", s.name,
			f.busyFound, f.busy, f.found, f.attackers, f.blocked, f.benign, f.unknown, times(f.times), blocked, addresses)
	}
}

func (s *judged) generated() (blocked, addresses int) {
	for _, scene := range s.scenes {
		blocked += scene.blocked
		addresses += scene.addresses
	}
	return blocked, addresses
}

// printLogs prints what one set of rules found in each log.
func printLogs(out io.Writer, s *judged, folders []string) {
	fmt.Fprintf(out, "\n| log (%s) | attackers of %d or more requests | attackers | benign blocked | unknown blocked | median, p90 to the block |\n|---|---|---|---|---|---|\n", s.name, busy)
	for i, f := range s.byLog {
		fmt.Fprintf(out, "| %s | %d of %d | %d of %d | %d of %d | %d | %s |\n", folders[i],
			f.busyFound, f.busy, f.found, f.attackers, f.blocked, f.benign, f.unknown, times(f.times))
	}
}

// printRules prints what each rule found, and how near its limit those come that
// it may not block.
func printRules(out io.Writer, s *judged) {
	fmt.Fprintf(out, "\n| rule (%s) | limit | attackers | by it alone | benign | unknown | median, p90 | benign peak | generated peak |\n|---|---|---|---|---|---|---|---|---|\n", s.name)
	for i := range s.set.Rules {
		rule := &s.set.Rules[i]
		f := s.all.rules[rule.Name]
		peak := strconv.Itoa(int(f.generated))
		if f.scene != "" {
			peak += " (" + f.scene + ")"
		}
		fmt.Fprintf(out, "| %s | %d in %s | %d | %d | %d | %d | %s | %d | %s |\n", rule.Name, rule.Limit, window(s.set.Meters[rule.Meter].Window),
			f.found, f.alone, f.blocked, f.unknown, times(f.times), f.benign, peak)
	}
}

// printScenes prints what was blocked of the generated traffic.
func printScenes(out io.Writer, s *judged, seeds int) {
	fmt.Fprintf(out, "\n| generated (%s; %d seeds) | what happens | addresses blocked | by |\n|---|---|---|---|\n", s.name, seeds)
	for _, scene := range s.scenes {
		fmt.Fprintf(out, "| %s | %s | %d of %d | %s |\n", scene.scene.Name, scene.scene.Says, scene.blocked, scene.addresses, strings.Join(scene.rules, ", "))
	}
}

// printRows lists the addresses that the operator asked to see, the busiest first.
// What they asked for is a stranger's text.
func printRows(out io.Writer, s *judged, which string) {
	rows := slices.DeleteFunc(slices.Clone(s.all.rows), func(r row) bool { return r.kind() != which })
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(b.events-a.events, a.addr.Compare(b.addr)) })
	fmt.Fprintf(out, "\n%s, by %s: %d\n", which, s.name, len(rows))
	for _, r := range rows {
		fmt.Fprintf(out, "%s %s %s %d requests [%s]\n", r.log, r.addr, cmp.Or(r.who.label, "?"), r.events, strings.Join(r.rules, " "))
		for _, target := range r.targets {
			fmt.Fprintf(out, "    %s\n", safetext.Strip(target))
		}
	}
}

// kind returns which list an address is on, or an empty text.
func (r *row) kind() string {
	switch {
	case r.who.attacker() && len(r.rules) == 0:
		return "missed"
	case r.who.label == "" && len(r.rules) > 0:
		return "unknown"
	case r.who.label != "" && !r.who.attacker() && len(r.rules) > 0:
		return "benign"
	}
	return ""
}

// times returns the median and the ninth decile.
func times(t []time.Duration) string {
	median, found := quantile(t, 0.5)
	if !found {
		return "–"
	}
	p90, _ := quantile(t, 0.9)
	return round(median) + ", " + round(p90)
}

// round returns a time in one unit.
func round(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// window returns a window as a rule writes it.
func window(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
