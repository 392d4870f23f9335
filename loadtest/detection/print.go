package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"edgeguard/internal/safetext"
	"edgeguard/loadtest/scenes"
)

// judged is one set of rules with all that was found of it.
type judged struct {
	ruleset
	byLog  []split
	all    split
	scenes []sceneFigures
}

// table prints the head of a table.
func table(out io.Writer, columns ...string) {
	fmt.Fprintf(out, "| %s |\n%s|\n", strings.Join(columns, " | "), strings.Repeat("|---", len(columns)))
}

// printSummary prints two lines for each set of rules, one for each half.
func printSummary(out io.Writer, sets []judged) {
	fmt.Fprint(out, "\nBy the labelled logs:\n\n")
	table(out, "rules", "half", fmt.Sprintf("attackers of %d or more requests blocked", busy), "attackers blocked", "only denied", "only told", "attackers' requests let in",
		"benign blocked or denied", "benign told", "unknown blocked", "median, p90 to the block")
	for i := range sets {
		for h := range halves {
			f := &sets[i].all[h]
			fmt.Fprintf(out, "| %s | %s | %d of %d | %d of %d | %d | %d | %d of %d | %d of %d | %d | %d | %s |\n", sets[i].name, h, f.busyFound, f.busy, f.found, f.attackers,
				f.denied, f.told, f.letIn, f.attacks, f.blocked, f.benign, f.benignTold, f.unknown, times(f.times))
		}
	}
	if len(sets[0].scenes) == 0 {
		return
	}
	fmt.Fprint(out, "\nBy the scenes:\n\n")
	table(out, "rules", "half", "wanted: scenes in which a visitor is blocked", "denied", "told", "outages: visitors blocked or denied", "block lifted", "held", "attackers in outages stopped",
		"attacks stopped", "told", "pass")
	for i := range sets {
		for h := range halves {
			sets[i].printScenesOf(out, h)
		}
	}
}

// printScenesOf prints what became of the scenes of one half.
func (s *judged) printScenesOf(out io.Writer, h half) {
	var scene [effects]int
	wanted, fates := 0, make(map[string]int)
	visitors, attackers := group{}, group{}
	for i := range s.scenes {
		of := &s.scenes[i]
		switch {
		case of.half() != h:
		case of.scene.Kind == scenes.Attack:
			fates[of.fate()]++
		case of.scene.Kind == scenes.Outage:
			visitors.add(&of.visitors)
			attackers.add(&of.attackers)
		default:
			wanted++
			for e, n := range of.visitors.by {
				if n > 0 {
					scene[e]++
				}
			}
		}
	}
	attacks := fates["stopped"] + fates["told"] + fates["passes"]
	fmt.Fprintf(out, "| %s | %s | %d of %d | %d | %d | %d of %d | %d | %d | %d of %d | %d of %d | %d | %d |\n", s.name, h, scene[blocked], wanted, scene[denied], scene[told],
		visitors.stopped(), visitors.addresses, visitors.by[lifted], visitors.by[held], attackers.stopped(), attackers.addresses,
		fates["stopped"], attacks, fates["told"], fates["passes"])
}

// printLogs prints what one set of rules found in each log.
func printLogs(out io.Writer, s *judged, folders []string) {
	fmt.Fprintln(out)
	table(out, "log ("+s.name+")", fmt.Sprintf("attackers of %d or more requests, tuned on", busy), "reported", "attackers, tuned on", "reported", "benign blocked or denied", "unknown blocked", "median, p90 to the block")
	for i := range s.byLog {
		t, r, f := &s.byLog[i][tunedOn], &s.byLog[i][reported], s.byLog[i].both()
		fmt.Fprintf(out, "| %s | %d of %d | %d of %d | %d of %d | %d of %d | %d of %d | %d | %s |\n", folders[i], t.busyFound, t.busy, r.busyFound, r.busy,
			t.found, t.attackers, r.found, r.attackers, f.blocked, f.benign, f.unknown, times(f.times))
	}
}

// printRules prints what each rule found, and how near its limit those come that
// it may not block: the peaks of the half that is tuned on and of the other.
func printRules(out io.Writer, s *judged) {
	fmt.Fprintln(out)
	table(out, "rule ("+s.name+")", "limit", "does", "attackers, tuned on", "reported", "by it alone", "benign", "unknown", "median, p90", "benign peak, tuned on", "reported", "peak of wanted scenes, tuned on", "reported")
	for i := range s.set.Rules {
		rule := &s.set.Rules[i]
		t, r := s.all[tunedOn].rule(rule.Name), s.all[reported].rule(rule.Name)
		fmt.Fprintf(out, "| %s | %d in %s | %s | %d | %d | %d | %d | %d | %s | %d | %d | %s | %s |\n", rule.Name, rule.Limit, window(s.set.Meters[rule.Meter].Window), rule.Action,
			t.found, r.found, t.alone+r.alone, t.blocked+r.blocked, t.unknown+r.unknown, times(slices.Concat(t.times, r.times)), t.benign, r.benign, t.peak(), r.peak())
	}
}

// peak returns the greatest count of a scene, with its name.
func (r *ruleFigures) peak() string {
	if r.scene == "" {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", r.generated, r.scene)
}

// printScenes prints what became of the visitors of each scene where nothing but
// the site may be stopped, and of the attackers among them: of those in which a
// visitor was blocked or denied, or of every one.
func printScenes(out io.Writer, s *judged, seeds int, every bool) {
	fmt.Fprintln(out)
	table(out, fmt.Sprintf("scene (%s; %d seeds)", s.name, seeds), "half", "what happens", "visitors blocked", "denied", "block lifted", "told", "held", "attackers stopped", "by (blocks for)")
	quiet := 0
	for i := range s.scenes {
		of := &s.scenes[i]
		v, a := &of.visitors, &of.attackers
		switch {
		case of.scene.Kind == scenes.Attack:
		case !every && v.stopped() == 0:
			quiet++
		default:
			says := of.scene.Says
			if of.scene.From != "" {
				says += " (recorded: " + of.scene.From + ")"
			}
			fmt.Fprintf(out, "| %s | %s | %s | %d of %d | %d | %d | %d | %d | %s | %s |\n", of.scene.Name, of.half(), says, v.by[blocked], v.addresses,
				v.by[denied], v.by[lifted], v.by[told], v.by[held], a.share(), s.does(v))
		}
	}
	if !every {
		fmt.Fprintf(out, "\nIn %d"+nobodyStopped, quiet)
	}
}

// nobodyStopped ends the sentence on scenes that are not in the table.
const nobodyStopped = " more scenes no visitor is blocked or denied.\n"

// share returns how many of a group's addresses were stopped.
func (g *group) share() string {
	if g.addresses == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", g.stopped(), g.addresses)
}

// printAttacks prints what became of each kind of attack.
func printAttacks(out io.Writer, s *judged) {
	fmt.Fprintln(out)
	table(out, "attack ("+s.name+")", "what happens", "requests let in", "so it", "visitors blocked or denied", "by (blocks for)")
	for i := range s.scenes {
		of := &s.scenes[i]
		if v, a := &of.visitors, &of.attackers; of.scene.Kind == scenes.Attack {
			fmt.Fprintf(out, "| %s | %s | %d of %d | %s | %d of %d | %s |\n", of.scene.Name, of.scene.Says, a.letIn, a.requests, of.fate(), v.stopped(), v.addresses, s.does(a))
		}
	}
}

// printRows lists the addresses that the operator asked to see, the busiest first.
// Those of the reported half are not shown: who has looked at them has tuned on them.
// What they asked for is a stranger's text.
func printRows(out io.Writer, s *judged, which string) {
	rows := slices.DeleteFunc(slices.Clone(s.all[tunedOn].rows), func(r row) bool { return r.kind() != which })
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(b.events-a.events, a.addr.Compare(b.addr)) })
	fmt.Fprintf(out, "\n%s, by %s, of the half that is tuned on: %d\n", which, s.name, len(rows))
	for _, r := range rows {
		fmt.Fprintf(out, "%s %s %s %d requests [%s]\n", r.log, r.addr, cmp.Or(r.who.Label, "?"), r.events, strings.Join(r.rules, " "))
		for _, target := range r.targets {
			fmt.Fprintf(out, "    %s\n", safetext.Strip(target))
		}
	}
}

// kind returns which list an address is on, or an empty text.
func (r *row) kind() string {
	switch {
	case r.who.Attacker() && len(r.rules) == 0:
		return "missed"
	case r.who.Label == "" && len(r.rules) > 0:
		return "unknown"
	case r.who.Label != "" && !r.who.Attacker() && len(r.rules) > 0:
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

// window returns a time as a rule writes it.
func window(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
