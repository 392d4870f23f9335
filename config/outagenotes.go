package config

import (
	"fmt"
	"strings"

	"edgeguard"
)

// OutageNotes says in sentences which rules count no failures while the site fails, and which of
// those that count failures do. It is empty where none goes by how the site answers.
func (c *Config) OutageNotes() (said []string) {
	var excusing, logins []string
	for i := range c.Rules.Rules {
		switch m := &c.Rules.Meters[c.Rules.Rules[i].Meter]; {
		case m.SparesOutages():
			excusing = append(excusing, c.Rules.Rules[i].Name)
		case m.Kind == edgeguard.KindAuthFailure:
			logins = append(logins, c.Rules.Rules[i].Name)
		}
	}
	if len(excusing) > 0 {
		parts := "each log is judged for itself (name your hosts in own_hosts, and each of them is)"
		if n := c.Own().Len(); n > 0 {
			parts = fmt.Sprintf("each of the %d own_hosts is judged for itself, and what is asked of other hosts by its log", n)
		}
		said = append(said,
			fmt.Sprintf("%s by the status, and %s no failures while the site itself fails: %s", subject(excusing, "goes", "go"), verb(excusing, "counts", "count"), parts),
			"that is seen from 20 visitors a minute on who succeed (half an hour's mean): a quieter site, an API of few clients, and one whose visitors share one address are not guarded")
		if c.HAProxy.Counts() {
			said = append(said, "what HAProxy's tables count is not guarded: they do not tell who succeeded")
		}
	}
	if len(logins) > 0 {
		said = append(said, fmt.Sprintf("%s failed logins that services report, without those that succeed: not guarded", subject(logins, "counts", "count")))
	}
	return said
}

// subject names some rules, with the verb for one or for many.
func subject(rules []string, one, many string) string {
	const most = 6
	word, rest := "rule", ""
	if len(rules) > 1 {
		word = "rules"
	}
	if n := len(rules) - most; n > 0 {
		rules, rest = rules[:most], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s %s%s %s", word, strings.Join(rules, ", "), rest, verb(rules, one, many))
}

func verb(rules []string, one, many string) string {
	if len(rules) == 1 {
		return one
	}
	return many
}
