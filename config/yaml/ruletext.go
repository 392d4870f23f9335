package yaml

import (
	"strings"

	"edgeguard/rules"
)

// MatchText returns a match on one line, as a config has it.
func MatchText(m *rules.Match) string {
	var terms []string
	for _, term := range []struct {
		name   string
		values []string
		write  func([]string) string
	}{
		{"kind", m.Kind, Flow}, {"host", m.Host, Flow}, {"method", m.Method, Flow}, {"path", m.Path, Flow},
		{"status", m.Status, numbers}, {"port", m.Port, numbers},
		{"referer", m.Referer, Flow}, {"fetch_site", m.FetchSite, Flow}, {"crawler", m.Crawler, Flow}, {"target", m.Target, Flow},
	} {
		if term.values != nil {
			terms = append(terms, term.name+": "+term.write(term.values))
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
