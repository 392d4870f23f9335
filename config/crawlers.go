package config

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/config/key"
	"edgeguard/config/yaml"
	"edgeguard/crawlers"
	"edgeguard/rules"
)

// crawlerKeys are those of one crawler.
func crawlerKeys(s *crawlers.Spec) key.List {
	return key.List{
		key.Text("name", &s.Name, plain, "lower-case letters, digits, `-`, `_`, `.`", "what [rules](rules.md#crawlers) call it").Usual("required"),
		key.Of("agent", &s.Agents, yaml.Node.Words, yaml.Flow, "up to 16 texts", "who sends a User-Agent with one of them, in any case, claims to be this crawler").Usual("`name`"),
		key.At("ranges", &s.Ranges, yaml.Node.Values, (*yaml.Printer).Flow, "up to 8 paths", "files of its addresses, as Google, Bing, Apple, DuckDuckGo and OpenAI publish them (`{\"prefixes\": [{\"ipv4Prefix\": \"192.0.2.0/27\"}]}`)"),
		key.Of("dns", &s.DNS, yaml.Node.Words, yaml.Flow, "up to 8 domains",
			"its address has a name in one of them, which leads back to it"),
	}
}

// readCrawler reads who may say that he is a crawler, and how that is verified.
func (c *Config) readCrawler(n yaml.Node) (s crawlers.Spec) {
	crawlerKeys(&s).Read(n)
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
	return s
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
		for _, value := range crawlersNamed(&c.Specs[i]) {
			if len(c.Crawlers) == 0 || !slices.Contains(known, value) {
				r.Wrong(path, fmt.Sprintf("%.40q is not one of the crawlers", value), "add it to crawlers, or use verified, impostor, unknown or none")
			}
		}
	}
}

// crawlersNamed returns the crawlers that a rule names anywhere.
func crawlersNamed(s *rules.Spec) (all []string) {
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
