// Package ruletext writes parts of rules as a config has them.
package ruletext

import (
	"strings"

	"edgeguard/config/yamltext"
	"edgeguard/rules"
)

// Match returns a match on one line.
func Match(m *rules.Match) string {
	var terms []string
	for _, term := range []struct {
		name   string
		values []string
		write  func([]string) string
	}{
		{"kind", m.Kind, yamltext.Flow}, {"host", m.Host, yamltext.Flow}, {"method", m.Method, yamltext.Flow}, {"path", m.Path, yamltext.Flow},
		{"status", m.Status, yamltext.Numbers}, {"port", m.Port, yamltext.Numbers},
		{"referer", m.Referer, yamltext.Flow}, {"fetch_site", m.FetchSite, yamltext.Flow}, {"crawler", m.Crawler, yamltext.Flow},
	} {
		if term.values != nil {
			terms = append(terms, term.name+": "+term.write(term.values))
		}
	}
	if m.Not != nil {
		terms = append(terms, "not: "+Match(m.Not))
	}
	return "{" + strings.Join(terms, ", ") + "}"
}
