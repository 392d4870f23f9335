package rules_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"edgeguard"
	"edgeguard/rules"
)

func withWhen(when string) rules.Spec { return rules.Spec{Name: "a", Threshold: 5, When: when} }

// compileWhen returns the meter of a rule with an expression.
func compileWhen(tb testing.TB, when string) *rules.Meter {
	tb.Helper()
	set, problems := rules.Compile([]rules.Spec{withWhen(when)})
	if len(problems) > 0 {
		tb.Fatalf("%s: %v", when, problems)
	}
	return &set.Meters[0]
}

// answer is an event that knows every field.
func answer() edgeguard.Event {
	return edgeguard.Event{
		Kind: edgeguard.KindRequest | edgeguard.KindResponse, Known: ^edgeguard.Field(0), Host: "WWW.Example.org:8080", Method: "GET",
		Path: "//a/../wp%2Dlogin.php?redirect=%2F#x", Agent: "Mozilla/5.0 (X)", Node: "fra-1", Status: 404, Port: 443,
	}
}

// TestWhenOddForms holds that an expression sees the forms that a match sees.
func TestWhenOddForms(t *testing.T) {
	ev := answer()
	ev.Method, ev.Host = "post", "www.example.org.:8080"
	m := compileWhen(t, `method == "POST" and host == "www.example.org"`)
	if _, got := m.Match(&ev); !got {
		t.Error("a method in lower case or a host's last dot hides an event")
	}
}

func TestWhen(t *testing.T) {
	for when, want := range map[string]bool{
		`path == "/wp-login.php"`:                          true,
		`path contains ".php" || agent == ""`:              true,
		`host == "www.example.org"`:                        true,
		`method == "GET" and host endsWith "org"`:          true,
		`query == "redirect=%2F"`:                          true,
		`query startsWith "x"`:                             false,
		`method in ["POST", "PUT"]`:                        false,
		`method not in ["POST", "PUT"]`:                    true,
		`status in [403, 404]`:                             true,
		`status in 400..499 and port != 80`:                true,
		`400 <= status and status < 404`:                   false,
		`not (status > 404) && status >= 404`:              true,
		`lower(agent) startsWith "mozilla"`:                true,
		`upper(node) == "FRA-1"`:                           true,
		`len(agent) < 20`:                                  true,
		`agent matches "^Mozilla/[0-9.]+ \\(X\\)$"`:        true,
		`path endsWith ".html"`:                            false,
		`(path == "/") == (status == 200)`:                 true,
		`path matches "login.php$"`:                        true,
		`true and node == "fra-1"`:                         true,
		`"php" in ["php"] and host != "" and !(port == 1)`: true,
	} {
		ev := answer()
		if _, got := compileWhen(t, when).Match(&ev); got != want {
			t.Errorf("%s is %v", when, got)
		}
	}
}

// TestWhenUnknown: a field that is not known makes no match, even where the
// rest of the expression would hold.
func TestWhenUnknown(t *testing.T) {
	for when, fields := range map[string]edgeguard.Field{
		`agent == "" or true`:              edgeguard.FieldAgent,
		`true or host == "x"`:              edgeguard.FieldHost,
		`query == ""`:                      edgeguard.FieldPath,
		`not (status == 1 and port == 80)`: edgeguard.FieldStatus | edgeguard.FieldPort,
	} {
		m := compileWhen(t, when)
		if m.Fields() != fields {
			t.Errorf("%s reads %v, want %v", when, m.Fields(), fields)
		}
		for field := edgeguard.FieldHost; field <= edgeguard.FieldNode; field <<= 1 {
			ev := edgeguard.Event{Kind: edgeguard.KindRequest | edgeguard.KindResponse, Known: ^field}
			if _, got := m.Match(&ev); got != (fields&field == 0) {
				t.Errorf("%s without %v: %v", when, field, got)
			}
		}
	}
}

// TestWhenRefused: what could loop, fail or surprise is refused where it
// stands.
func TestWhenRefused(t *testing.T) {
	for _, c := range []struct {
		when, says string
		offset     int
	}{
		{`path`, "is text, and must be true or false", 0},
		{`len(path)`, "is a number, and must be true or false", 0},
		{`path == `, "ends too early", 7},
		{`path contians "x"`, `unexpected "contians"`, 5},
		{`path == "x" adn port == 1`, `unexpected "adn"`, 12},
		{`path == = 1`, `unexpected "="`, 8},
		{`path == 3`, "mismatched types", 5},
		{`paht == "/"`, "unknown name paht", 0},
		{`true`, "names no field", 0},
		{`any(1..100000000, # > 0)`, "not supported in a rule", 0},
		{`all(["a"], # == path)`, "not supported in a rule", 0},
		{`status in 1..port`, "is not a list of constants", 11},
		{`len(1..1000) > 0 and path != ""`, "not supported in a rule", -1},
		{`path matches agent`, "must be a quoted string", 13},
		{`path matches "("`, "missing closing )", 5},
		{`path matches "(a{30}){30}"`, "steps for each character", 13},
		{`path + agent == "x"`, "not supported in a rule", -1},
		{`repeat(path, 9) == "x"`, "unknown name repeat", 0},
		{`split(path, "/")[1] == "x"`, "unknown name split", 0},
		{`now().Year() > 1 and path != ""`, "unknown name now", 0},
		{`let x = path; x == "/"`, "not supported in a rule", -1},
		{`path == "/" ? true : false`, "not supported in a rule", -1},
		{`$env["path"] == "/"`, "", -1},
		{`path[0:1] == "/"`, "not supported in a rule", -1},
		{`status / 100 == 4`, "", -1},
		{`status in ["404"]`, "", -1},
		{`path < "/b"`, "not supported in a rule", -1},
		{`path == nil`, "", -1},
		{`path == ` + strings.Repeat(" ", 1000) + `"x"`, "too long", 0},
		{strings.Repeat("not ", 240) + `(path == "/")`, "exceeds maximum", -1},
	} {
		_, problems := rules.Compile([]rules.Spec{withWhen(c.when)})
		if len(problems) != 1 {
			t.Errorf("%.60s: %v", c.when, problems)
			continue
		}
		p := problems[0]
		if p.Path != "when" || p.Fix == "" || !strings.Contains(p.Text, c.says) || c.offset >= 0 && p.Offset != c.offset {
			t.Errorf("%.60s: at %d: %v, want it at %d, saying %s", c.when, p.Offset, p, c.offset, c.says)
		}
	}
}

// TestWhenMeant: a slip of the pen is answered with what was meant.
func TestWhenMeant(t *testing.T) {
	for when, fix := range map[string]string{
		`path contians "x"`:             `did you mean "contains"?`,
		`path == "/" adn port == 1`:     `did you mean "and"?`,
		`paht == "/"`:                   `did you mean "path"?`,
		`path startswith "/x"`:          `did you mean "startsWith"?`,
		`lenght(path) > 3`:              "use the fields host, method",
		`statsu == 404 and path == "/"`: `did you mean "status"?`,
		`path == "/" "x"`:               "use the fields host, method",
	} {
		_, problems := rules.Compile([]rules.Spec{withWhen(when)})
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Fix, fix) {
			t.Errorf("%s: %v, want the fix %s", when, problems, fix)
		}
	}
}

// TestWhenIsOfTheMeter: another expression is another meter, the same one
// written otherwise is not; naming a status makes it a rule of responses.
func TestWhenIsOfTheMeter(t *testing.T) {
	a, b, c, none := compileWhen(t, `path == "/" and port == 1`), compileWhen(t, `(path=='/')  &&  port==1`),
		compileWhen(t, `path == "/x" and port == 1`), compileWhen(t, "")
	if a.Fingerprint == c.Fingerprint || a.Fingerprint == none.Fingerprint {
		t.Error("another expression has the same fingerprint")
	}
	if a.Fingerprint != b.Fingerprint {
		t.Error("the same expression, written otherwise, has another fingerprint")
	}
	if kind := compileWhen(t, `status == 404`).Kind; kind != edgeguard.KindResponse {
		t.Errorf("a rule on a status counts %v", kind)
	}
	if a.Kind != edgeguard.KindRequest {
		t.Errorf("a rule on a path counts %v", a.Kind)
	}
}

// TestWhenOracle holds the closures against expr's own machine.
func TestWhenOracle(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	texts := []string{"method", "path", "query", "agent", "node", `"/a"`, `"GET"`, `""`, `lower(agent)`, `upper(path)`}
	numbers := []string{"status", "port", "404", "80", "len(agent)", "len(path)"}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var build func(depth int) string
	build = func(depth int) string {
		if depth == 0 {
			switch r.IntN(6) {
			case 5:
				text, words := pick(texts...), ""
				for range 2 + r.IntN(4) {
					words += pick(" or ", " || ") + text + " contains " + pick(`"a"`, `"/"`, `"."`, `"B"`, `"ot"`, `"é"`, `"\xff"`, `""`, `"(x"`)
				}
				return words[4:]
			case 0:
				return pick(numbers...) + pick(" < ", " <= ", " > ", " >= ", " == ", " != ") + pick(numbers...)
			case 1:
				return pick("status", "port", "len(query)") + pick(" in ", " not in ") + pick("[80, 404]", "1..100")
			case 2:
				return pick(texts...) + pick(" in ", " not in ") + `["GET", "/a", "é"]`
			case 3:
				return pick(texts...) + ` matches ` + pick(`"^/?a"`, `"(?i)B[o0]t"`, `"\\.php$"`)
			}
			return pick(texts...) + pick(" == ", " != ", " contains ", " startsWith ", " endsWith ") + pick(texts...)
		}
		return pick("", "not ") + "(" + build(depth-1) + pick(" and ", " or ", " == ") + "(" + build(depth-1) + "))"
	}
	values := []string{"", "/a", "GET", "/A?x=1", "a.php", "Bot", "é\xff"}
	methods := []string{"", "GET", "POST", "/A"} // in normal form: expr makes none upper
	for range 2000 {
		text := build(r.IntN(4)) + ` and host != "never"`
		program, err := expr.Compile(text, expr.Env(env(edgeguard.Event{})), expr.AsBool())
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		m := compileWhen(t, text)
		for range 5 {
			ev := answer()
			ev.Method, ev.Agent, ev.Node = pick(methods...), pick(values...), pick(values...)
			ev.Host, ev.Path = "h", pick("/", "/a", "/a.php?x=1", "/GET?/a")
			ev.Status, ev.Port = uint16(r.IntN(3))*202, uint16(r.IntN(2))*80
			want, err := expr.Run(program, env(ev))
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, text, err)
			}
			if _, got := m.Match(&ev); got != want {
				t.Fatalf("seed %d: %s is %v for %+v, expr says %v", seed, text, got, ev, want)
			}
		}
	}
}

// Words are looked for in all of a text, as an expression is that names one of them.
func TestWhenContainsAny(t *testing.T) {
	m := compileWhen(t, `agent contains "sqlmap" or agent contains "nikto"`)
	for agent, want := range map[string]bool{strings.Repeat("x", 5000) + "nikto": true, strings.Repeat("é", 5000) + "nikto": true, strings.Repeat("nikt", 5000): false} {
		ev := answer()
		ev.Agent = agent
		if _, got := m.Match(&ev); got != want {
			t.Errorf("%.5q and so on: %v, want %v", agent, got, want)
		}
	}
}

// env is an event as expr's own machine sees it; its path must be in normal
// form.
func env(ev edgeguard.Event) map[string]any {
	path, query, _ := strings.Cut(ev.Path, "?")
	return map[string]any{
		"host": ev.Host, "method": ev.Method, "path": path, "query": query, "agent": ev.Agent, "node": ev.Node,
		"status": int(ev.Status), "port": int(ev.Port),
	}
}

// FuzzWhen holds that nothing panics, neither compiling nor matching.
func FuzzWhen(f *testing.F) {
	for _, seed := range []string{`path contains ".php" || agent == ""`, `status in 400..499`, `a matches "("`, `len(x)`, `host in ["a", 1]`, `not not true`} {
		f.Add(seed, "/a%2e?b")
	}
	f.Fuzz(func(t *testing.T, when, path string) {
		set, problems := rules.Compile([]rules.Spec{withWhen(when)})
		if len(problems) > 0 {
			return
		}
		ev := answer()
		ev.Path, ev.Agent, ev.Host = path, path, path
		set.Meters[0].Match(&ev)
	})
}

func BenchmarkWhen(b *testing.B) {
	worst := `agent matches "` + strings.Repeat("(a|b)*", 40) + `c"`
	for _, c := range []struct{ name, when string }{
		{"none", ""},
		{"texts", `path contains ".php" || agent == ""`},
		{"regexp", `agent matches "(?i)bot|crawler|spider"`},
		{"worst, 8 KiB agent", worst},
	} {
		ev := answer()
		ev.Path, ev.Host = "/product/item-001/", "www.example.org"
		if strings.HasPrefix(c.name, "worst") {
			ev.Agent = strings.Repeat("ab", 4096)
		}
		b.Run("ours/"+c.name, func(b *testing.B) {
			m := compileWhen(b, c.when)
			b.ReportAllocs()
			for b.Loop() {
				m.Match(&ev)
			}
		})
		if c.when == "" {
			continue
		}
		b.Run("expr's machine/"+c.name, func(b *testing.B) {
			program, err := expr.Compile(c.when, expr.Env(env(ev)), expr.AsBool())
			if err != nil {
				b.Fatal(err)
			}
			machine := vm.VM{}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := machine.Run(program, env(ev)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
