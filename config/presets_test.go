package config_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/internal/words"
	"edgeguard/presets"
	"edgeguard/rules"
)

// A preset can be copied into a config: it has no mistake, no warning, and names that
// paths of problems can name.
func TestShippedPresets(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	for _, p := range presets.Shipped() {
		c, err := config.Parse(p.String(), []byte(p.Text))
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%s: %v %v", p, err, c)
			continue
		}
		for i := range c.Rules.Meters {
			if m := &c.Rules.Meters[i]; m.MeasureOf() == words.Weighed() {
				t.Errorf("%s: people read costs of rule %s", p, c.Rules.Rules[m.Rules[0]].Name)
			}
		}
		used, err := config.Parse("config", []byte("presets: "+p.String()+"\n"))
		if err != nil || len(used.Warnings) > 0 {
			t.Errorf("%s: %v", p, err)
			continue
		}
		for i, spec := range c.Specs {
			got := used.Rules.Rules[i]
			if !name.MatchString(spec.Name) || got.Name != p.Name+"/"+spec.Name || got.Limit != c.Rules.Rules[i].Limit {
				t.Errorf("%s: %s is used as %+v", p, spec.Name, got)
			}
		}
		readBack(t, used)
	}
}

// names returns the names of a config's rules.
func names(c *config.Config) (names []string) {
	for _, r := range c.Specs {
		names = append(names, r.Name)
	}
	return names
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("edgeguard.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A preset's rules follow those of the file, whatever the order of the keys, and stand
// in for the default rule.
func TestPresets(t *testing.T) {
	want := []string{"joomla/login", "joomla/login-day", "joomla/refused"}
	for _, text := range []string{"presets: joomla\n", "presets: [joomla@1]\n", "presets:\n  - name: joomla\n", "rules: []\npresets: [joomla]\n"} {
		if c := parse(t, text); !slices.Equal(names(c), want) || len(c.Warnings) > 0 {
			t.Errorf("%q: %v, %v", text, names(c), c.Warnings)
		}
	}
	want = append([]string{"site"}, want...)
	for _, text := range []string{"presets: joomla\nrules: {name: site, threshold: 9}\n", "rules: {name: site, threshold: 9}\npresets: joomla\nwide: report\n"} {
		c := parse(t, text)
		if !slices.Equal(names(c), want) {
			t.Errorf("%q: %v", text, names(c))
		}
		if c.Rules.Rules[1].Wide != c.Wide {
			t.Errorf("%q: wide %v", text, c.Rules.Rules[1].Wide)
		}
	}
}

// A file changes a preset's rules field by field, and a match term by term.
func TestPresetChanges(t *testing.T) {
	before := parse(t, "presets: wordpress\n")
	c := parse(t, `
presets:
  - name: wordpress@1
    rules:
      login:
        threshold: 40
        cost: 2
        wide: strict
        match: {host: shop.example, not: {path: /wp-login.php}}
        candidates: 30
    without: [login-day, login-net, login-crowd, refused, xmlrpc-browser, xmlrpc-agents, xmlrpc, xmlrpc-day, authors, forms, files, assets, xmlrpc-refused]
`)
	if got := names(c); !slices.Equal(got, []string{"wordpress/login"}) {
		t.Fatalf("rules %v", got)
	}
	was, is := before.Specs[0], c.Specs[0]
	switch {
	case is.Threshold != 40 || is.Cost != 2 || is.Costs != nil || is.Wide != rules.WideStrict || !slices.Equal(is.Candidates, []uint32{30}):
		t.Errorf("%+v", is)
	case !slices.Equal(is.Match.Host, []string{"shop.example"}) || !slices.Equal(is.Match.Not.Path, []string{"/wp-login.php"}):
		t.Errorf("%+v %+v", is.Match, is.Match.Not)
	case !slices.Equal(is.Match.Path, was.Match.Path) || !slices.Equal(is.Match.Not.Status, was.Match.Not.Status) || is.BlockFor != was.BlockFor || len(is.Escalate) == 0:
		t.Errorf("changed besides: %+v, was %+v", is, was)
	}
	if again := parse(t, "presets: wordpress\n"); again.Specs[0].Threshold != was.Threshold || again.Specs[0].Match.Host != nil {
		t.Errorf("a change outlived its config: %+v", again.Specs[0])
	}
}

// A whole preset, or one of its rules, can be tried without blocks.
func TestPresetAction(t *testing.T) {
	c := parse(t, "presets:\n  - {name: joomla, rules: {login: {action: block, block_for: 2h}}, action: shadow}\n  - {name: wordpress, rules: {login: {action: deny}}}\n")
	want := map[string]edgeguard.Action{
		"joomla/login": edgeguard.ActionBlock, "joomla/login-day": edgeguard.ActionShadow, "joomla/refused": edgeguard.ActionShadow,
		"wordpress/login": edgeguard.ActionDeny, "wordpress/login-day": edgeguard.ActionDeny, "wordpress/login-net": edgeguard.ActionDeny,
		"wordpress/refused": edgeguard.ActionBlock, "wordpress/xmlrpc": edgeguard.ActionBlock, "wordpress/xmlrpc-browser": edgeguard.ActionBlock,
		"wordpress/xmlrpc-agents": edgeguard.ActionBlock, "wordpress/xmlrpc-day": edgeguard.ActionShadow, "wordpress/authors": edgeguard.ActionBlock,
		"wordpress/forms": edgeguard.ActionShadow, "wordpress/files": edgeguard.ActionBlock, "wordpress/login-crowd": edgeguard.ActionShadow,
		"wordpress/assets": edgeguard.ActionShadow, "wordpress/xmlrpc-refused": edgeguard.ActionBlock,
	}
	for _, r := range c.Rules.Rules {
		if r.Action != want[r.Name] {
			t.Errorf("%s: %v", r.Name, r.Action)
		}
	}
	if r := c.Rules.Rules[0]; r.BlockFor != 2*time.Hour {
		t.Errorf("%+v", r)
	}
}

// What is wrong with a preset has its place in the file.
func TestPresetProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown", "presets: [web, wordpres]\n", `c:1:16: presets[1]: unknown preset "wordpres"; did you mean wordpress, or else one of api, `},
		{"no such version", "presets: web@99\n", `c:1:10: presets: the preset web has no version "99"; use web@1`},
		{"twice", "presets: [web, {name: web@1}]\n", "c:1:23: presets[1].name: the preset web is used twice"},
		{"no name", "presets: [{action: deny}]\n", "c:1:11: presets[0]: has no name"},
		{"a number", "presets: 5\n", "c:1:10: presets: expected text"},
		{"unknown field", "presets: [{name: web, rule: {}}]\n", `did you mean "rules"?`},
		{"no such rule", "presets: [{name: web, rules: {sites: {threshold: 5}}}]\n", `c:1:31: presets[0].rules.sites: unknown field; did you mean "site"?`},
		{"no such rule to leave out", "presets: [{name: web, without: sites}]\n", `c:1:32: presets[0].without: "sites" is not known here; did you mean "site"?`},
		{"renamed", "presets: [{name: web, rules: {site: {name: b}}}]\n", "c:1:38: presets[0].rules.site.name: unknown field"},
		{"bad value", "presets: [{name: web, rules: {site: {window: 7s}}}]\n", "c:1:46: presets[0].rules.site.window: 7s is too short"},
		{"bad together", "presets: [{name: web, rules: {site: {window: 90s}}}]\n", "c:1:46: presets[0].rules.site.window: invalid window 1m30s"},
		{"escalate without blocks", "presets: [{name: web, rules: {site: {escalate: 24h, action: deny}}}]\n", "presets[0].rules.site.escalate: only rules that block can escalate"},
		{"name is taken", "presets: web\nrules:\n  - {name: a, threshold: 5}\n  - {name: web/site, threshold: 5}\n",
			`c:4:12: rules[1].name: "web/site" is a rule of the preset web; rename this one`},
	} {
		_, err := config.Parse("c", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := config.Parse("c", []byte("rules: {name: web/site, threshold: 5}\n")); err != nil {
		t.Errorf("a name is taken by a preset that is not used: %v", err)
	}
}

// A preset of which nothing, or only a part, can be counted is named, once.
func TestPresetsUnsupplied(t *testing.T) {
	texts := func(c *config.Config) (out []string) {
		for _, w := range c.Warnings {
			out = append(out, w.String())
		}
		return out
	}
	c := parse(t, "presets: [web, joomla]\nlisten: {auth: 'unix:/run/a.sock'}\n")
	got := texts(c)
	if len(got) != 2 || !strings.Contains(got[0], "yaml:1:11: presets[0]: web/payments, web/misdirected, web/misdirected-tls, web/scripts, web/scripts-any, web/scripts-net, web/scripts-day, web/scripts-again, web/scripts-crowd, web/hidden, web/forms, web/probing, web/probing-any count nothing: no configured sensor reports response events") ||
		!strings.Contains(got[1], "yaml:1:16: presets[1]: the preset joomla counts nothing: no configured sensor reports response events") {
		t.Errorf("%q", got)
	}
	if c := parse(t, "presets: [web, joomla]\nsensors: {accesslog: {file: /var/log/a}}\n"); len(c.Warnings) > 0 {
		t.Errorf("%q", texts(c))
	}
}

// A warning of a preset's rule is at the preset.
func TestPresetsUnshared(t *testing.T) {
	c := parse(t, "rules: {name: a, threshold: 5000}\nfleet: {redis: 'redis://127.0.0.1', max_nodes: 2000}\npresets: [joomla, {name: web, rules: {site: {threshold: 2000}}}]\n")
	var got []string
	for _, w := range c.Warnings {
		if strings.Contains(w.Text, "reported to the fleet at its first request") {
			got = append(got, w.Path)
		}
	}
	if !slices.Equal(got, []string{"presets[1].rules.site"}) {
		t.Errorf("%q of %v", got, c.Warnings)
	}
}

// The command line adds presets to the rules of a config, or has them alone.
func TestWithPresets(t *testing.T) {
	c := parse(t, "rules: {name: site, threshold: 9}\nwide: strict\n")
	for alone, want := range map[bool]string{false: "site joomla/login joomla/login-day joomla/refused", true: "joomla/login joomla/login-day joomla/refused"} {
		next, err := c.WithPresets([]string{"joomla"}, alone)
		if err != nil || strings.Join(names(next), " ") != want || next.Rules.Rules[len(next.Specs)-1].Wide != rules.WideStrict {
			t.Errorf("alone %v: %v %v", alone, names(next), err)
		}
	}
	for ref, want := range map[string]string{"joomla@9": "no version", "": "unknown preset"} {
		if _, err := c.WithPresets([]string{ref}, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if _, err := parse(t, "presets: joomla").WithPresets([]string{"joomla"}, false); err == nil || !strings.Contains(err.Error(), `already has the name "joomla/login"`) {
		t.Errorf("twice: %v", err)
	}
	if len(c.Specs) != 1 {
		t.Errorf("the config was changed: %v", names(c))
	}
}

// The page's example can be used as it is.
func TestPresetsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/presets.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Fatal("no example found")
	}
	for _, block := range blocks {
		if c, err := config.Parse("docs/presets.md", []byte(block[1])); err != nil || len(c.Warnings) > 0 {
			t.Errorf("%v\n%s", err, block[1])
		}
	}
	for _, name := range presets.Shipped().Names() {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("the page does not have %s", name)
		}
	}
}

// What docs/presets.md says of the networks that different values are counted for.
func TestPresetsWideValues(t *testing.T) {
	got := make(map[string]string)
	for _, p := range presets.Shipped() {
		if p.Name == "scan" {
			continue // packets, mostly of senders that can be forged
		}
		c := parse(t, "presets: "+p.String()+"\n")
		for i := range c.Rules.Rules {
			r := &c.Rules.Rules[i]
			if m := &c.Rules.Meters[r.Meter]; m.Distinct == 0 || m.Everybody {
				continue
			}
			widths := ""
			for _, w := range r.Widths {
				widths += fmt.Sprintf("/%d", w.Bits)
			}
			got[r.Name] = widths
		}
	}
	want := map[string]string{"web/scripts": "/56", "web/hidden": "/56", "web/queries": "/56", "web/forms": "/56/48", "wordpress/files": "/56/48",
		"wordpress/authors": "/56", "wordpress/xmlrpc-agents": "/56/48",
		"web/scripts-any": "", "web/scripts-net": "", "web/probing": "", "web/probing-any": "", "web/scraping": "", "web/scripts-day": "",
		"web/api-scraping": "", "wordpress/assets": ""}
	for name, widths := range want {
		if w, known := got[name]; !known || w != widths {
			t.Errorf("%s is counted for %q, and the page says %q", name, w, widths)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("the page does not say it of %v", got)
	}
}

// What a preset knows of people stays while the rule counts the same, and is printed.
func TestPeople(t *testing.T) {
	of := func(c *config.Config) rules.People {
		return c.Rules.Rules[slices.IndexFunc(c.Rules.Rules, func(r rules.Rule) bool { return r.Name == "wordpress/login-day" })].People
	}
	shipped := of(parse(t, "presets: wordpress\n"))
	if shipped.Count == 0 || shipped.Scene == "" {
		t.Fatalf("the preset says nothing of people: %+v", shipped)
	}
	for text, want := range map[string]rules.People{
		"presets:\n  - {name: wordpress, rules: {login-day: {threshold: 60, window: 1h, match: {host: a.example}}}}\n": shipped,
		"presets:\n  - {name: wordpress, rules: {login-day: {cost: 1}}}\n":                                             {},
		"presets:\n  - {name: wordpress, rules: {login-day: {cost: 1, people: {count: 14, scene: ours}}}}\n":           {Count: 14, Scene: "ours"},
		"presets:\n  - {name: wordpress, rules: {login-day: {key: {address: {v4: 24, v6: 48}}}}}\n":                    {},
		"rules: []\npresets:\n  - {name: wordpress, without: [login]}\n":                                               shipped,
	} {
		c := parse(t, text)
		if got := of(c); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
		if printed := fmt.Sprintf("people: {count: %d, scene: %s}", want.Count, want.Scene); want.Count > 0 && !strings.Contains(c.YAML(), printed) {
			t.Errorf("%q: %q is not printed in\n%s", text, printed, c.YAML())
		}
		readBack(t, c)
	}
	with, without := parse(t, "rules: {name: a, threshold: 5, people: {count: 2, scene: x}}\n"), parse(t, "rules: {name: a, threshold: 5}\n")
	if with.RulesDigest() != without.RulesDigest() {
		t.Error("the digest goes by what is known of people")
	}
}
