package yaml_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"edgeguard/config/yaml"
)

// environment is that of these tests.
func environment(name string) (string, bool) {
	value, set := map[string]string{
		"STATE": "/srv/state", "EMPTY": "", "_x9": "under", "NESTED": "${STATE}", "BREAK": "a\nb: c", "NUL": "a\x00", "LATIN": "\xff",
		"LONG": strings.Repeat("a", 4000), "TOKEN": "hunter2\t",
	}[name]
	return value, set
}

func TestExpand(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"/var/lib":                 "/var/lib",
		"${STATE}":                 "/srv/state",
		"${STATE}/a-${_x9}.log":    "/srv/state/a-under.log",
		"/a${EMPTY}b":              "/ab",
		"${NESTED}":                "${STATE}", // a value is not expanded again
		"${NONE:-/var/lib}/x":      "/var/lib/x",
		"${EMPTY:-/var/lib}":       "/var/lib",
		"${STATE:-/var/lib}":       "/srv/state",
		"${NONE:-}":                "",
		"${NONE:-a:-b}":            "a:-b",
		"$${STATE}":                "${STATE}",
		"$$${STATE}":               "$${STATE}",
		"a$STATE $ $$ $(STATE) {}": "a$STATE $ $$ $(STATE) {}",
		"$${":                      "${",
	} {
		out, wrong, _ := yaml.ExpandVariables(text, environment)
		if out != want || wrong != "" {
			t.Errorf("%q: %q, %s; want %q", text, out, wrong, want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"${NONE}":                              "the variable NONE is not set",
		"/a/${NONE}/b":                         "the variable NONE is not set",
		"${STATE":                              "without }",
		"${}":                                  `"" is not the name`,
		"${9A}":                                `"9A" is not the name`,
		"${A-b}":                               `"A-b" is not the name`,
		"${A B}":                               `"A B" is not the name`,
		"${STATE:+x}":                          "is not the name",
		"${" + strings.Repeat("A", 1000) + "}": "is not the name",
		"${BREAK}":                             "the value of BREAK has a line break",
		"${NUL}":                               "the value of NUL has",
		"${LATIN}":                             "the value of LATIN has",
		"${LONG}${LONG}":                       "is longer than 4096 bytes",
		"${TOKEN}":                             "the value of TOKEN has",
	} {
		out, wrong, fix := yaml.ExpandVariables(text, environment)
		if out != "" || !strings.Contains(wrong, says) || fix == "" {
			t.Errorf("%.40q: %q, %s; %s, want %s", text, out, wrong, fix, says)
		}
		if strings.Contains(wrong+fix, "hunter2") {
			t.Errorf("%.40q: the message has the value: %s; %s", text, wrong, fix)
		}
	}
}

// FuzzText holds that nothing panics or grows without bound, that a value is taken as
// it is, and that an escaped text expands to itself.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "${X}", "a${X:-b}c", "$${X}", "$$${X}", "${", "$", "${X", "${X}${X}", "${:-}", "$${$${"} {
		f.Add(seed, "/srv")
		f.Add(seed, "${X}")
		f.Add(seed, "a\nb: [")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		lookup := func(name string) (string, bool) { return value, name == "X" }
		out, wrong, fix := yaml.ExpandVariables(text, lookup)
		if (wrong == "") != (fix == "") || wrong != "" && out != "" || len(out) > 4096 {
			t.Fatalf("%q: %q, %q, %q", text, out, wrong, fix)
		}
		if wrong == "" && !yaml.HasVariables(text) && out != text {
			t.Errorf("%q names no variable and becomes %q", text, out)
		}
		if plain, wrong, _ := yaml.ExpandVariables("<${X}>", lookup); wrong == "" && plain != "<"+value+">" {
			t.Errorf("the value %q becomes %q", value, plain)
		}
		if back, wrong, _ := yaml.ExpandVariables(yaml.EscapeVariables(text), lookup); len(text) <= 4096 && (wrong != "" || back != text) {
			t.Errorf("%q, escaped, expands to %q: %s", text, back, wrong)
		}
		if utf8.ValidString(text) && !utf8.ValidString(out) {
			t.Errorf("%q becomes %q", text, out)
		}
	})
}
