package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard/config/yaml"
	"edgeguard/haproxy"
	"edgeguard/rules"
)

// Every list of a Match is a term, and once.
func TestMatchTermsAreWhole(t *testing.T) {
	var match rules.Match
	known := make(map[*[]string]string)
	for _, term := range rules.MatchTerms {
		if at := term.Values(&match); known[at] != "" {
			t.Errorf("%s and %s are one field", known[at], term.Name)
		} else {
			known[at] = term.Name
		}
	}
	docs, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range rules.MatchTerms {
		if !strings.Contains(string(docs), "\n| `"+term.Name+"` |") {
			t.Errorf("docs/rules.md has no row for %s", term.Name)
		}
	}
	for i, v := 0, reflect.ValueOf(&match).Elem(); i < v.NumField(); i++ {
		if at, isList := v.Field(i).Addr().Interface().(*[]string); isList && known[at] == "" {
			t.Errorf("rules.MatchTerms has no row for %s", v.Type().Field(i).Name)
		}
	}
}

// Whatever a term is, alone or under not: a rule with it counts something else than one
// without, is printed as it was read, and no proxy counts every request for it.
func TestMatchTerms(t *testing.T) {
	values := map[string]string{
		"kind": "packet", "host": "a.example", "method": "POST", "path": "/a", "status": "404", "port": "443",
		"referer": "none", "fetch_site": "none", "crawler": "verified", "target": "tls",
	}
	const head = "crawlers: [{name: googlebot, agent: [Googlebot], dns: [googlebot.com]}]\nrules:\n  - name: r\n    threshold: 100\n"
	plain, err := Parse("c.yaml", []byte(head))
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range rules.MatchTerms {
		value := values[term.Name]
		if value == "" {
			t.Errorf("no value of %s is tested", term.Name)
			continue
		}
		for _, match := range []string{"{" + term.Name + ": " + value + "}", "{not: {" + term.Name + ": " + value + "}}"} {
			text := head + "    match: " + match + "\n"
			if term.OfCosts {
				if strings.Contains(match, "not") {
					continue
				}
				text = head + "    cost: [{match: " + match + ", cost: 3}, {cost: 2}]\n"
			}
			c, err := Parse("c.yaml", []byte(text))
			if err != nil {
				t.Errorf("%s: %v", match, err)
				continue
			}
			spec, meter := &c.Specs[0], &c.Rules.Meters[0]
			if meter.Fingerprint == plain.Rules.Meters[0].Fingerprint {
				t.Errorf("%s: the meter is that of a rule without it", match)
			}
			if !term.OfCosts && term.Name != "kind" && spec.MatchesAll() {
				t.Errorf("%s: matches all requests", match)
			}
			if _, every := haproxy.ColumnsOf(c.Rules).Every(); every {
				t.Errorf("%s: HAProxy counts every request", match)
			}
			asked := spec.Match
			if term.OfCosts {
				asked = spec.Costs[0].Match
			}
			again, err := Parse("c.yaml", []byte(head+"    match: "+yaml.MatchText(&asked)+"\n"))
			if term.OfCosts {
				again, err = Parse("c.yaml", []byte(head+"    cost: [{match: "+yaml.MatchText(&asked)+", cost: 3}, {cost: 2}]\n"))
			}
			if err != nil {
				t.Errorf("%s is printed as %s: %v", match, yaml.MatchText(&asked), err)
			} else if diff := cmp.Diff(c.Specs, again.Specs); diff != "" {
				t.Errorf("%s is printed as %s: %s", match, yaml.MatchText(&asked), diff)
			}
		}
	}
}
