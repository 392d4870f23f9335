package yaml

import (
	"strings"

	"edgeguard/rules"
)

// MatchText returns a match on one line, as a config has it.
func MatchText(m *rules.Match) string {
	var terms []string
	for _, term := range rules.MatchTerms {
		write := Flow
		if term.Numbers {
			write = numbers
		}
		if values := *term.Values(m); values != nil {
			terms = append(terms, term.Name+": "+write(values))
		}
	}
	if m.Fold {
		terms = append(terms, "fold: true")
	}
	if m.Not != nil {
		terms = append(terms, "not: "+MatchText(m.Not))
	}
	return "{" + strings.Join(terms, ", ") + "}"
}
