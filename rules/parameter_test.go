package rules_test

import (
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// TestParameter: an expression that names parameter holds if it holds for one of the query's,
// decoded once, and the counted value is the path with that one.
func TestParameter(t *testing.T) {
	const when = `query contains "=" and parameter contains "../" and not (parameter matches "^(s|q)=")`
	m := &compile(t, rules.Spec{Name: "a", Threshold: 1, When: when, Distinct: "parameter"}).Meters[0]
	for target, want := range map[string]string{
		"/a?f=../x":              "/a?f=../x",
		"//%61?b&c=1&f=%2e./x#":  "/a?f=../x",
		"/a?s=1&f=..%2Fx+y&g=..": "/a?f=../x y",
		"/a?s=1;f=../x":          "/a?f=../x",
		"/a?q=../x":              "",
		"/a?f=%252e./x":          "",
		"/a?f=..%2":              "",
		"/a?../x":                "",
		"/../x=?a":               "",
		"/a?s=&&;&q=../&%71=../": "",
		"/a?%../=1":              "/a?%../=1",
	} {
		ev := request("", "GET", target)
		value, known := m.Value(&ev, nil)
		if _, ok := m.Match(&ev); ok != (want != "") || ok && (!known || value != want) {
			t.Errorf("%s: matches %v, value %q, want %q", target, ok, value, want)
		}
		if _, ok := m.AsSent(&ev); ok {
			t.Errorf("%s: counted as sent", target)
		}
	}
}

// TestParameterAgainstTwin compares random queries with the definition, by Go's own decoding.
func TestParameterAgainstTwin(t *testing.T) {
	m := &compile(t, rules.Spec{Name: "a", Threshold: 1, When: `parameter contains "a" and (len(query) > 3 or parameter == "b a") and not (parameter endsWith "x")`}).Meters[0]
	matched := 0
	for range 20_000 {
		query := ""
		for range rand.IntN(8) {
			query += []string{"a", "b", "%61", "%62", "+", "%20", "&", ";", "x", "=", "%2561"}[rand.IntN(11)]
		}
		want := false
		for _, part := range regexp.MustCompile(`[&;]`).Split(query, -1) {
			decoded, err := url.QueryUnescape(part)
			if err != nil {
				t.Fatal(err)
			}
			want = want || strings.Contains(decoded, "a") && (len(query) > 3 || decoded == "b a") && !strings.HasSuffix(decoded, "x")
		}
		ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldPath, Path: "/?" + query}
		if _, got := m.Match(&ev); got != want {
			t.Fatalf("%q: %v, want %v", query, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d matched: the test shows little", matched)
	}
}

// TestManyParameters: each look takes a microsecond, so a query has no more of them than it needs: from
// the hundredth on the rest is one text, in which what is looked for is found and no name is at the
// beginning.
func TestManyParameters(t *testing.T) {
	m := &compile(t, rules.Spec{Name: "a", Threshold: 1, When: `parameter contains "../" and not (parameter matches "^(s|q)=")`, Distinct: "parameter"}).Meters[0]
	for target, want := range map[string]string{
		"/a?" + strings.Repeat("b&", 98) + "f=../x&c":      "/a?f=../x",
		"/a?" + strings.Repeat("b&", 99) + "f=../x&c":      "/a?&f=../x&c",
		"/a?" + strings.Repeat("b;", 99) + "s=../x":        "/a?;s=../x",
		"/a?" + strings.Repeat("b&", 98) + "s=../x":        "",
		"/a?" + strings.Repeat("&", 8000) + "f=..%2Fx":     "/a?" + strings.Repeat("&", 7902) + "f=../x",
		"/a?" + strings.Repeat("b=1&", 2000) + "c&d=%2e.x": "",
	} {
		ev := request("", "GET", target)
		value, _ := m.Value(&ev, nil)
		if _, ok := m.Match(&ev); ok != (want != "") || ok && value != want {
			t.Errorf("%.20s: matches %v, value %.40q, want %.40q", target, ok, value, want)
		}
	}
}
