package observe

import (
	"fmt"
	"io"

	"edgeguard/admin"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
)

// candidateJSON is a candidate and its rule.
type candidateJSON struct {
	Rule string `json:"rule"`
	admin.Candidate
	Unit words.Measure `json:"unit,omitzero"`
}

// candidatesOf returns the candidates of all rules.
func candidatesOf(rules []admin.Rule) []candidateJSON {
	var all []candidateJSON
	for i := range rules {
		for _, c := range rules[i].Candidates {
			all = append(all, candidateJSON{rules[i].Name, c, rules[i].Unit})
		}
	}
	return all
}

// drawCandidates writes what other thresholds would have done; nothing without any.
func drawCandidates(out io.Writer, colour bool, all []candidateJSON) {
	if len(all) == 0 {
		return
	}
	t := &output.Table{}
	t.Texts(output.Bold, "candidate of")
	t.Numbers(output.Plain, "threshold")
	t.Numbers(output.Faint, "limit")
	t.Numbers(output.Plain, "events over", "times exceeded")
	t.Texts(output.Faint, "counted since")
	for i := range all {
		c := &all[i]
		since := ""
		if !c.Since.IsZero() {
			since = words.Instant(c.Since)
		}
		t.Row(c.Rule, words.Number(c.Threshold), c.Unit.Amount(c.Limit), words.Number(c.Over), words.Number(c.Crossings), since)
	}
	fmt.Fprintln(out)
	t.Print(out, colour)
}
