package cloudflare_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/migrate/cloudflare"
	"edgeguard/migrate/migratetest"
)

func TestExamples(t *testing.T) {
	migratetest.Examples(t, "testdata/*.json", cloudflare.Import)
	migratetest.Examples(t, "testdata/*.tf", cloudflare.Import)
}

// Whatever is changed in a rule changes the result, or has the rule refused. What is named
// here changes nothing on purpose.
func TestNothingIsPassedOver(t *testing.T) {
	migratetest.NothingIsPassedOver(t, "testdata/*.json", "rules", cloudflare.Import,
		"id", "ref", "version", "last_updated", "logging", "action_parameters.response", "characteristics[0]", "name", "kind")
}

// rule returns a rule with an expression, as JSON.
func rule(expression string) []byte {
	data, _ := json.Marshal(map[string]any{"description": "x", "action": "block", "expression": expression,
		"ratelimit": map[string]any{"characteristics": []string{"cf.colo.id", "ip.src"}, "period": 60, "requests_per_period": 10, "mitigation_timeout": 600}})
	return data
}

// What cannot be said is refused with its place.
func TestRefusedExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		"":                                                               "ends too early",
		"http.host":                                                      "ends too early",
		"http.host eq":                                                   "ends too early",
		`http.host eq "a`:                                                `at character 14: a string is not closed`,
		`http.host eq r#"a"`:                                             "raw string is not closed",
		`http.host eq "a\n"`:                                             "backslash",
		`http.host eq "a" xor http.host eq "b"`:                          `at character 18: "xor" has no operator`,
		`http.host eq "a" and ssl`:                                       `at character 22: "ssl" is not a field`,
		`http.host eq "a" http.host`:                                     `at character 18: "http.host" is not expected`,
		`(http.host eq "a"`:                                              "ends too early",
		`http.host eq a`:                                                 "string is expected",
		`http.host in {}`:                                                "empty set",
		`http.host in $hosts`:                                            "list that the file does not have",
		`http.host lt "a"`:                                               "status",
		`http.host eq "A"`:                                               "upper-case",
		`http.request.method eq "post"`:                                  "lower-case",
		`http.request.uri.path eq "/a%20b"`:                              "escapes decoded",
		`http.request.uri.path eq "/a//b"`:                               "never matches",
		`http.request.uri.path eq "login"`:                               "begin with a slash",
		`http.request.uri eq "/a"`:                                       "path and query together",
		`http.request.uri contains "?"`:                                  "without their query",
		`http.request.uri.path wildcard "/a**"`:                          "not a valid pattern",
		`http.request.uri.path wildcard "/a*b*"`:                         "stars inside",
		`lower(http.host) eq "A"`:                                        "lower()",
		`http.request.uri.path matches "^/api/"`:                         "",
		`http.request.uri.path matches "^/a.i/"`:                         "regular expression of Rust's",
		`http.request.uri.path matches "^/a\\i/"`:                        "regular expression of Rust's", // Cloudflare keeps both backslashes
		`http.request.uri.path matches r"^/a(?i)b"`:                      "regular expression of Rust's",
		`http.request.uri.path matches "^"`:                              "regular expression of Rust's",
		`http.request.uri.path matches "^/a$" $`:                         "is not expected",
		`http.request.uri matches "login$"`:                              "path and query together",
		`lower(http.host) matches "A"`:                                   "lower()",
		`http.response.code matches "40"`:                                "regular expression of Rust's",
		`upper(http.host) eq "A"`:                                        "not a field",
		`http.response.code eq "404"`:                                    "status",
		`http.response.code eq 0404`:                                     "cannot be compared", // to the base of eight there
		`http.response.code ge 0404`:                                     "number alone",
		`http.response.code in {0100..0200}`:                             "not a status",
		`lower(http.user_agent) contains "ü"`:                            "beyond ASCII",
		`http.user_agent contains "ü"`:                                   "",
		`http.response.code in {599..500}`:                               "no status",
		`http.response.code lt 100`:                                      "no status",
		`http.request.headers["a"][0] eq "b"`:                            "header",
		"http.host eq \"a\" ; drop":                                      `';' is not understood`,
		strings.Repeat("not ", 100) + "ssl":                              "nested",
		strings.Repeat("(", 5000):                                        "nested",
		strings.Repeat("a", 10_000):                                      "longer than",
		strings.Repeat(`http.host eq "a" or `, 300) + `http.host eq "a"`: "", // one value is enough
		strings.Repeat(`http.request.uri.query eq "a" or `, 200) + `http.host eq "a"`:     "comparisons",
		`http.request.uri.path contains "/a" and http.request.uri.path contains "\u2028"`: "backslash",
		"http.host eq \"a\x00\"": "control characters",
		"\u202ehttp.host":        "is not understood",
	} {
		report, err := cloudflare.Import(rule(expression))
		if err != nil {
			t.Errorf("%.80q: %v", expression, err)
			continue
		}
		migratetest.Accepted(t, report)
		missing := strings.Join(report.Missing(), "\n")
		if (missing == "") != (want == "") || !strings.Contains(missing, want) || len(missing) > 2000 {
			t.Errorf("%.80q: %q, want %q", expression, missing, want)
		}
	}
}

func TestHostile(t *testing.T) {
	for what, c := range map[string]struct{ data, says string }{
		"no JSON":   {"rules: []", "line 1"},
		"Terraform": {"resource \"cloudflare_ruleset\" \"x\" {}", "is Terraform"},
		"its JSON":  {`{"resource": {"cloudflare_ruleset": {}}}`, "is Terraform"},
		"another":   {`{"a": 1}`, "has no result"},
		"failed":    {`{"success": false, "errors": [], "result": null}`, "error of the API"},
		"many":      {`{"rules": [` + strings.Repeat("{},", 600) + `{}]}`, "at most 500"},
	} {
		if _, err := cloudflare.Import([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	old, err := cloudflare.Import([]byte(`{"result": [{"id": "x", "threshold": 60, "period": 60, "match": {"request": {"url": "*.example.com/path*"}}, "action": {"mode": "ban", "timeout": 86400}}]}`))
	if err != nil || len(old.Left) != 1 || !strings.Contains(old.Left[0], "before rulesets") {
		t.Errorf("%v, %v", old, err)
	}
	for _, data := range []string{
		`[1, null, [], "x", {"ratelimit": 5}, {"ratelimit": {}}, {"ratelimit": []}]`,
		`{"expression": 5, "ratelimit": {"period": 1e9, "requests_per_period": -1, "characteristics": [5, {}], "mitigation_timeout": "x"}, "action": {}}`,
		`{"description": "` + strings.Repeat(`\u0000\u2028`, 5000) + `", "expression": "true", "action": "\u001b[31m", "ratelimit": {"x\ny": 1}}`,
	} {
		report, err := cloudflare.Import([]byte(data))
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		migratetest.Accepted(t, report)
		if len(report.Specs()) > 0 || len(report.Missing()) == 0 {
			t.Errorf("%s: %v", data, report.ConfigText("f"))
		}
	}
}

// expression is a random expression, and what it means, as the documentation of
// Cloudflare's language describes it.
type expression struct {
	text  string
	holds func(*edgeguard.Event) bool
}

// TestMeaning compares imported rules with what their expressions mean.
func TestMeaning(t *testing.T) {
	const seeds, requests = 3000, 60
	accepted, hits, whens := 0, 0, 0
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 49))
		e := either(r, 3)
		report, err := cloudflare.Import(rule(e.text))
		if err != nil {
			t.Fatalf("%v\n%s", err, e.text)
		}
		meter := migratetest.Meter(t, report)
		if meter == nil {
			continue
		}
		accepted++
		if report.Specs()[0].When != "" {
			whens++
		}
		migratetest.Accepted(t, report)
		for range requests {
			ev := request(r)
			want := e.holds(ev)
			if want {
				hits++
			}
			if _, got := meter.Match(ev); got != want {
				t.Fatalf("seed %d: %v for %+v, want %v\n%s\n%s", seed, got, ev, want, e.text, report.ConfigText("f"))
			}
		}
	}
	if accepted < seeds/2 || hits < accepted*requests/10 || whens < accepted/10 {
		t.Errorf("of %d expressions %d were accepted, %d with a when, and %d of %d requests matched", seeds, accepted, whens, hits, accepted*requests)
	}
}

var (
	paths   = []string{"/", "/login", "/Login", "/api/v1/users", "/api/", "/a/b.php", "/a*b"}
	hosts   = []string{"example.org", "www.example.org", "example.com"}
	methods = []string{"GET", "POST", "OPTIONS"}
	agents  = []string{"curl/8.0", `Bad"Bot\`, "Mozilla/5.0 (X11)", "ünï ${HOME}"}
	queries = []string{"", "a=1", "action=delete"}
	codes   = []int{200, 301, 403, 404, 500}
)

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func request(r *rand.Rand) *edgeguard.Event {
	path := pick(r, paths)
	if q := pick(r, queries); q != "" {
		path += "?" + q
	}
	return &edgeguard.Event{
		Addr: netip.MustParseAddr("192.0.2.1"), Kind: edgeguard.KindRequest | edgeguard.KindResponse,
		Known: edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent | edgeguard.FieldStatus,
		Host:  pick(r, hosts), Method: pick(r, methods), Agent: pick(r, agents), Path: path, Status: uint16(pick(r, codes)),
	}
}

// either and both write the two precedences without parentheses.
func either(r *rand.Rand, depth int) expression {
	e := both(r, depth)
	for r.IntN(3) == 0 {
		a, b := e, both(r, depth)
		e = expression{a.text + pick(r, []string{" or ", " || ", "||"}) + b.text, func(ev *edgeguard.Event) bool { return a.holds(ev) || b.holds(ev) }}
	}
	return e
}

func both(r *rand.Rand, depth int) expression {
	e := single(r, depth)
	for r.IntN(3) == 0 {
		a, b := e, single(r, depth)
		e = expression{a.text + pick(r, []string{" and ", " && ", "\n&&"}) + b.text, func(ev *edgeguard.Event) bool { return a.holds(ev) && b.holds(ev) }}
	}
	return e
}

func single(r *rand.Rand, depth int) expression {
	switch r.IntN(5) {
	case 0:
		if depth > 0 {
			inner := either(r, depth-1)
			return expression{"( " + inner.text + ")", inner.holds}
		}
	case 1:
		if depth > 0 {
			inner := single(r, depth-1)
			return expression{pick(r, []string{"not ", "!"}) + inner.text, func(ev *edgeguard.Event) bool { return !inner.holds(ev) }}
		}
	}
	if r.IntN(5) == 0 {
		return status(r)
	}
	return texts(r)
}

func status(r *rand.Rand) expression {
	code := pick(r, codes)
	o := pick(r, []string{"eq", "!=", "lt", ">=", "in"})
	text := fmt.Sprintf("http.response.code %s %d", o, code)
	if o == "in" {
		text = fmt.Sprintf("http.response.code in {%d 400..403}", code)
	}
	return expression{text, func(ev *edgeguard.Event) bool {
		s := int(ev.Status)
		switch o {
		case "eq":
			return s == code
		case "!=":
			return s != code
		case "lt":
			return s < code
		case ">=":
			return s >= code
		}
		return s == code || 400 <= s && s <= 403
	}}
}

var plain = regexp.MustCompile(`^[A-Za-z0-9/_-]+$`)

func texts(r *rand.Rand) expression {
	name, values, of := "", []string(nil), func(ev *edgeguard.Event) string { return "" }
	switch r.IntN(6) {
	case 0, 1:
		name, values, of = "http.request.uri.path", paths, func(ev *edgeguard.Event) string { p, _, _ := strings.Cut(ev.Path, "?"); return p }
	case 2:
		name, values, of = "http.host", hosts, func(ev *edgeguard.Event) string { return ev.Host }
	case 3:
		name, values, of = "http.request.method", methods, func(ev *edgeguard.Event) string { return ev.Method }
	case 4:
		name, values, of = "http.user_agent", agents, func(ev *edgeguard.Event) string { return ev.Agent }
	case 5:
		name, values, of = "http.request.uri", paths, func(ev *edgeguard.Event) string { return ev.Path }
	}
	text := pick(r, values)
	if from := r.IntN(2 * len(text)); from < len(text) {
		text = strings.ToValidUTF8(text[from:from+1+r.IntN(len(text)-from)], "")
	}
	if r.IntN(4) == 0 {
		inner := of
		name, text, of = "lower("+name+")", strings.ToLower(text), func(ev *edgeguard.Event) string { return strings.ToLower(inner(ev)) }
	}
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	if r.IntN(3) == 0 {
		quoted = `r##"` + text + `"##`
	}
	other := pick(r, values)
	if plain.MatchString(text) && r.IntN(4) == 0 {
		pattern := pick(r, []string{"", "^"}) + text + pick(r, []string{"", "$"})
		return expression{name + pick(r, []string{" matches ", " ~ "}) + `"` + pattern + `"`, func(ev *edgeguard.Event) bool {
			return regexp.MustCompile(pattern).MatchString(of(ev))
		}}
	}
	switch r.IntN(6) {
	case 0:
		return expression{name + " eq " + quoted, func(ev *edgeguard.Event) bool { return of(ev) == text }}
	case 1:
		return expression{name + " != " + quoted, func(ev *edgeguard.Event) bool { return of(ev) != text }}
	case 2:
		return expression{name + " contains " + quoted, func(ev *edgeguard.Event) bool { return strings.Contains(of(ev), text) }}
	case 3:
		return expression{"starts_with(" + name + ", " + quoted + ")", func(ev *edgeguard.Event) bool { return strings.HasPrefix(of(ev), text) }}
	case 4:
		return expression{"ends_with(" + name + "," + quoted + ")", func(ev *edgeguard.Event) bool { return strings.HasSuffix(of(ev), text) }}
	}
	if strings.ContainsAny(text+other, `*\`) || r.IntN(2) == 0 {
		return expression{name + " in {" + quoted + ` r###"` + other + `"###}`, func(ev *edgeguard.Event) bool { return of(ev) == text || of(ev) == other }}
	}
	return expression{name + ` strict wildcard "` + text + "*" + other + `"`, func(ev *edgeguard.Event) bool {
		s := of(ev)
		return len(s) >= len(text)+len(other) && strings.HasPrefix(s, text) && strings.HasSuffix(s, other)
	}}
}

func FuzzImport(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if report, err := cloudflare.Import(data); err == nil {
			migratetest.Accepted(t, report)
		}
	})
}

func FuzzExpression(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(either(rand.New(rand.NewPCG(seed, 1)), 3).text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if report, err := cloudflare.Import(rule(text)); err == nil {
			migratetest.Accepted(t, report)
		}
	})
}
