package config

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/config/fieldpath"
	"edgeguard/config/read"
	"edgeguard/config/yamltext"
	"edgeguard/crawlers"
	"edgeguard/rules"
)

// readCrawlers reads who may say that he is a crawler, and how that is verified.
func (c *Config) readCrawlers(n read.Node) {
	n.List(func(n read.Node) {
		var s crawlers.Spec
		n.Mapping(read.Fields{
			"name":   func(n read.Node) { s.Name, _ = n.Text() },
			"agent":  func(n read.Node) { s.Agents = n.Words() },
			"ranges": func(n read.Node) { s.Ranges = n.Values() },
			"dns":    func(n read.Node) { s.DNS = n.Words() },
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
		path := fieldpath.Join(r.rulePath(i), "match.crawler")
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
		ranges := p.Flow(fieldpath.Join(fieldpath.Item("crawlers", i), "ranges"), s.Ranges)
		p.WriteString("  - {name: " + yamltext.Quote(s.Name) + ", agent: " + yamltext.Flow(s.Agents) + ", ranges: " + ranges + ", dns: " + yamltext.Flow(s.DNS) + "}\n")
	}
}
