package config

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/crawlers"
	"edgeguard/rules"
)

// readCrawlers reads who may say that he is a crawler, and how that is verified.
func (c *Config) readCrawlers(n yaml.Node) {
	n.List(func(n yaml.Node) {
		var s crawlers.Spec
		n.Mapping(yaml.Fields{
			"name":   func(n yaml.Node) { s.Name, _ = n.Text() },
			"agent":  func(n yaml.Node) { s.Agents = n.Words() },
			"ranges": func(n yaml.Node) { s.Ranges = n.Values() },
			"dns":    func(n yaml.Node) { s.DNS = n.Words() },
		})
		if s.Agents == nil {
			s.Agents = []string{s.Name}
		}
		if field, err := s.Check(); err != nil && !n.Touched("name", "agent", "ranges", "dns") {
			text, fix, _ := strings.Cut(err.Error(), "; ")
			n.WrongField(field, text, fix)
		}
		if slices.ContainsFunc(c.Crawlers, func(o crawlers.Spec) bool { return o.Name == s.Name }) || len(c.Crawlers) == crawlers.Most {
			n.Wrong(fmt.Sprintf("is a second crawler of its name, or more than %d", crawlers.Most), "remove it")
		}
		c.Crawlers = append(c.Crawlers, s)
	})
}

// checkCrawlers refuses rules that ask for a crawler which no event can be of: a rule
// that asks for all but it would count nothing.
func (r *reader) checkCrawlers(c *Config) {
	known := slices.Clone(edgeguard.CrawlerWords)
	for _, s := range c.Crawlers {
		known = append(known, s.Name)
	}
	for i := range c.Specs {
		path := yaml.JoinPath(r.rulePath(i), "match.crawler")
		for _, value := range asked(&c.Specs[i]) {
			if len(c.Crawlers) == 0 || !slices.Contains(known, value) {
				r.Wrong(path, fmt.Sprintf("%.40q is not one of the crawlers", value), "add it to crawlers, or use verified, impostor, unknown or none")
			}
		}
	}
}

// asked returns the crawlers that a rule names anywhere.
func asked(s *rules.Spec) (all []string) {
	matches := []rules.Match{s.Match}
	for _, charge := range s.Costs {
		matches = append(matches, charge.Match)
	}
	for _, m := range matches {
		all = append(all, m.Crawler...)
		if m.Not != nil {
			all = append(all, m.Not.Crawler...)
		}
	}
	return all
}

func (p *printer) crawlers(all []crawlers.Spec) {
	if len(all) > 0 {
		p.Field(0, "crawlers", "")
	}
	for i, s := range all {
		ranges := p.Flow(yaml.JoinPath(yaml.ItemPath("crawlers", i), "ranges"), s.Ranges)
		p.WriteString("  - {name: " + yaml.Quote(s.Name) + ", agent: " + yaml.Flow(s.Agents) + ", ranges: " + ranges + ", dns: " + yaml.Flow(s.DNS) + "}\n")
	}
}
