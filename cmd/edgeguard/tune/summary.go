package tune

import (
	"fmt"
	"strings"

	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
	"edgeguard/tuning/evidence"
)

// Summary shows all rules in a line each, and what to do next.
func (t Text) Summary(findings []*Found) {
	table := &output.Table{}
	table.Texts(output.Plain, "rule", "limit now")
	table.Texts(output.Bold, "suggested")
	table.Numbers(output.Plain, "attackers more", "customers at risk")
	table.Texts(output.Faint, "why")
	var silent []string // rules that counted nothing: a line for all of them
	for _, f := range findings {
		if f.Tally.Events.Total() == 0 {
			silent = append(silent, f.Rule.Name)
			continue
		}
		table.Row(f.Rule.Name, f.LimitNow(), f.Suggested(), f.More(), f.AtRisk(), f.Suggestion.Brief)
	}
	fmt.Fprintln(t.Out)
	table.Print(t.Out, t.Colour)
	if len(silent) > 0 {
		fmt.Fprintf(t.Out, "\nNothing was counted by: %s.\n", strings.Join(silent, ", "))
	}
	for _, note := range Notes(findings) {
		fmt.Fprintf(t.Out, "\n%s", note)
	}
	fmt.Fprintf(t.Out, "\nWhy, and what each threshold does, of one rule: --rule %s; of all: --html FILE\n", findings[mostTelling(findings)].Rule.Name)
}

// mostTelling is the first rule with a suggestion, or else the first.
func mostTelling(findings []*Found) int {
	for i, f := range findings {
		if evidence.Changes(&f.Suggestion) {
			return i
		}
	}
	return 0
}

// LimitNow is what the rule allows, in words: "25 attempts in 1h".
func (f *Found) LimitNow() string {
	if f.Rule.Pending {
		return "none yet"
	}
	return f.Tally.Unit.Allowed(f.Rule.Limit) + " in " + words.Span(f.Meter.Window)
}

// Suggested is the suggested limit in words, if there is another than the rule's.
func (f *Found) Suggested() string {
	switch s := &f.Suggestion; {
	case evidence.Changes(s):
		return f.Tally.Unit.Allowed(s.Limit)
	case s.Keep:
		return "keep"
	}
	return "–"
}

// More is how many more that look hostile the suggested limit catches.
func (f *Found) More() string {
	if !evidence.Changes(&f.Suggestion) {
		return "–"
	}
	return fmt.Sprintf("%+d", f.Suggestion.Above.Hostile-f.Now.Hostile)
}

// AtRisk is how many that look like customers are over the limit, the suggested one or else
// the rule's, and of how many nothing is known.
func (f *Found) AtRisk() string {
	over := f.Now
	if evidence.Changes(&f.Suggestion) {
		over = f.Suggestion.Above
	}
	if over.Unknown == 0 {
		return words.Number(over.Benign)
	}
	return fmt.Sprintf("%s (+ %s unknown)", words.Number(over.Benign), words.Number(over.Unknown))
}

// Notes says of all suggestions together what the table has no room for.
func Notes(findings []*Found) (notes []string) {
	var unchecked []string
	checked := 0
	for _, f := range findings {
		h := f.Suggestion.Holdout
		switch {
		case h == nil:
		case h.Unchecked == "":
			checked++
		default:
			unchecked = append(unchecked, f.Rule.Name)
		}
	}
	if checked > 0 {
		notes = append(notes, fmt.Sprintf("%s chosen by the first two thirds of the log and tried on the last.", words.Plural(checked, "suggestion was", "suggestions were")))
	}
	if len(unchecked) > 0 {
		notes = append(notes, "Not checked on a part of the log that it was not chosen by: "+strings.Join(unchecked, ", ")+".")
	}
	return notes
}

// Checked says what the suggestion did in the last third of the log; empty if nothing is to
// be said.
func (f *Found) Checked() string {
	if h := f.Suggestion.Holdout; h != nil && h.Unchecked != "" {
		return "not checked on another part of the log: " + h.Unchecked
	}
	return ""
}
