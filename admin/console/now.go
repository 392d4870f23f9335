package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/internal/words"
)

const (
	// nowChanges and nowNear are how many of each the front page shows.
	nowChanges, nowNear = 6, 6
	// nowSearched is how many changes are read for them: logins are not shown.
	nowSearched = 40
)

// nowPage says whether all is well, what goes on and who did what, now or in a time that has passed.
type nowPage struct {
	frame
	Says    string
	Past    bool
	Needs   []banner
	Chart   *timeChart
	Attacks *attackList
	Changes []happening
	Hidden  bool // changes are not for this caller
	All     string
	Near    []keyRow
	Alarms  []happening // that were in force in a past time
	Trial   *trial      // of a node in mode monitor
}

// trial is what enforcing would have refused, and how to begin with it.
type trial struct {
	Says, Fix string
	Rules     []link
}

// now is the front page; the first steps while there is nothing to see.
func (p *nodeHandlers) now(w http.ResponseWriter, r *http.Request) (string, any) {
	f := p.frames.of(r, "", "Now")
	if untouched(&f.stats) {
		http.Redirect(w, r, "/welcome", http.StatusSeeOther)
		return "", nil
	}
	span, _ := readSpan(r.URL.Query(), p.reader.Now())
	shown := &nowPage{frame: f, Past: span.Last == 0, Hidden: p.view.Discreet(), All: "/changes"}
	shown.Chart = chartOf(p.view, r, &shown.frame)
	facts := nowFacts{Past: shown.Past, Starting: !f.stats.Ready, Monitor: f.stats.Monitor, Lost: f.stats.Fleet.Lost()}
	var from, until time.Time // of changes
	if shown.Past {
		from, until = span.From, span.Until
		shown.All += "?from=" + span.From.UTC().Format(time.RFC3339) + "&until=" + span.Until.UTC().Format(time.RFC3339)
		shown.Banners = nil
		shown.alarms(p.view.AlarmsIn(r.Context(), span.From, span.Until))
		facts.From, facts.Until = clockIn(span.From, &shown.Chart.Hours), clockIn(span.Until, &shown.Chart.Hours)
		facts.Requests, facts.Refused, facts.Known = sumOf(shown.Chart.Requests), sumOf(shown.Chart.Refused), shown.Chart.Line != ""
	} else {
		shown.Needs, shown.Banners = append(shown.Banners, needs(&f.stats)...), nil // they stand on the page, and not above it
		facts.Needs, facts.Known = shown.needs+len(f.stats.Needs), true
		facts.Modes, _ = f.stats.Fleet.Modes()
		facts.Requests, facts.Refused = lately(&f.stats, p.reader.Rates())
		shown.near(p, r)
		if e, ok := p.view.Enforcing(r.Context()); ok {
			shown.Trial = newTrial(&e, f.stats.Time)
		}
	}
	attacks := p.view.Attacks(r.Context(), span.From, span.Until)
	facts.Attacks = len(attacks)
	if !shown.Past {
		facts.Attacks = len(slices.DeleteFunc(slices.Clone(attacks), func(a admin.Attack) bool { return !a.GoesOn() }))
	}
	shown.Attacks = newAttackList(attacks, func(t time.Time) string { return clockIn(t.UTC(), &shown.Chart.Hours) }, &f.stats, !shown.Past)
	changes := slices.DeleteFunc(p.view.LatestChanges(r.Context(), from, until, nowSearched), func(e admin.Event) bool {
		return strings.HasPrefix(e.Change.Action, "log") // in and out
	})
	shown.Changes = shown.happenings(changes[:min(len(changes), nowChanges)])
	shown.Says = facts.say()
	return "now.html", shown
}

// near adds who is nearest to a limit.
func (n *nowPage) near(p *nodeHandlers, r *http.Request) {
	for _, k := range p.view.Nearest(r.Context(), nearLength) {
		if k.Near() && len(n.Near) < nowNear {
			n.Near = append(n.Near, newKeyRow(&k))
		}
	}
}

// alarms adds those that were in force in a past time.
func (n *nowPage) alarms(all []admin.AlarmSpan) {
	for i := range all {
		a := &all[i]
		h := happening{At: at(a.Began, n.stats.Time), Kind: a.Kind, Text: a.Text}
		switch {
		case a.Ended.IsZero():
			h.Text += " (it lasts)"
		case a.Ended.After(a.Began):
			h.Text += " (until " + at(a.Ended, n.stats.Time).Clock + ")"
		}
		n.Alarms = append(n.Alarms, h)
	}
}

// newTrial says what enforcing would have refused.
func newTrial(e *admin.Enforcing, now time.Time) *trial {
	t := &trial{Says: "What enforcing would have refused is known after the first minute.", Fix: e.Fix}
	if e.Requests > 0 {
		t.Says = fmt.Sprintf("Since %s enforcing would have refused %s of %s: %s.", at(e.Since, now).Clock, words.Number(e.Refused), words.Plural(e.Requests, "request", "requests"), words.Percent(e.Refused, e.Requests))
	}
	for _, r := range e.Rules {
		t.Rules = append(t.Rules, link{Name: r.Rule, Path: rulePath(r.Rule), Count: words.Number(r.Refused)})
	}
	return t
}

// lately returns the requests of the last five minutes, and how many of them were refused: all of a node that
// has not run for so long.
func lately(stats *admin.Stats, all []watch.Series) (requests, refused uint64) {
	if len(all) == 0 || stats.Time.Sub(stats.Started) < 5*time.Minute {
		return stats.Events.Decided, stats.Refused()
	}
	return sumOf(all[0].Requests), sumOf(all[0].Denied)
}

// nowFacts are what the front page says in one sentence.
type nowFacts struct {
	Past, Starting, Monitor bool
	Lost                    string // of its fleet
	From, Until             string // of a past time
	Known                   bool   // something was measured in it
	Attacks                 int    // that go on, or did then
	Requests, Refused       uint64
	Needs                   int
	Modes                   string // of the nodes of a fleet
}

// say makes the sentence.
func (f *nowFacts) say() string {
	if f.Past && !f.Known {
		return fmt.Sprintf("Nothing is known of the time from %s to %s.", f.From, f.Until)
	}
	said := f.attacks() + f.refusals()
	switch {
	case f.Past:
		return fmt.Sprintf("From %s to %s %s.", f.From, f.Until, said)
	case f.Starting:
		return "This node is starting: not everything is read or listens yet. " + upper(said) + f.wants()
	case f.Lost != "":
		return "This node is " + f.Lost + ". Here " + said + f.wants()
	case f.Requests > 0 && f.Refused == 0 && f.Needs == 0 && f.Attacks == 0:
		return "All is quiet: " + said + f.wants()
	}
	return upper(said) + f.wants()
}

// attacks says how many attacks there are, as the beginning of the sentence.
func (f *nowFacts) attacks() string {
	one, many, none := " goes on, ", " go on, ", "no attack goes on, "
	if f.Past {
		one, many, none = " went on, and ", " went on, and ", "no attack went on, and "
	}
	switch f.Attacks {
	case 0:
		return none
	case 1:
		return "one attack" + one
	}
	return spelled(f.Attacks) + " attacks" + many
}

// refusals says what part of the requests is refused.
func (f *nowFacts) refusals() string {
	is, be := "is", "are"
	switch {
	case f.Monitor && f.Past:
		is, be = "would have been", "would have been"
	case f.Monitor:
		is, be = "would be", "would be"
	case f.Past:
		is, be = "was", "were"
	}
	switch {
	case f.Requests == 0 && f.Past:
		return "no request came"
	case f.Requests == 0:
		return "no request came in the last five minutes"
	case f.Refused == 0:
		return "no request " + is + " refused"
	}
	return strings.Replace(words.Percent(f.Refused, f.Requests), ".0 %", " %", 1) + " of requests " + be + " refused"
}

// wants says how many things an operator has to do, and how the nodes of a fleet are.
func (f *nowFacts) wants() string {
	said := fmt.Sprintf(", and %s things need you.", spelled(f.Needs))
	switch f.Needs {
	case 0:
		said = ", and nothing needs you."
	case 1:
		said = ", and one thing needs you."
	}
	if f.Modes != "" {
		said += " " + upper(f.Modes) + "."
	}
	return said
}

// spelled writes a small number as a word.
func spelled(n int) string {
	if small := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}; n < len(small) {
		return small[n]
	}
	return words.Number(n)
}
