package awswaf_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/migrate/migratetest"
)

// object is a statement as JSON.
type object = map[string]any

// TestMeaning compares imported rules with a second, naive reader of AWS's statements, for
// random statements and requests. Paths, hosts and methods are in normal form: what
// differs otherwise is said in each import.
func TestMeaning(t *testing.T) {
	const seeds, requests = 3000, 60
	accepted, hits, whens := 0, 0, 0
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 15))
		scope := statement(r, 3)
		data, err := json.Marshal(object{"Name": "x", "Priority": 1, "Action": object{"Block": object{}},
			"Statement": object{"RateBasedStatement": object{"Limit": 10, "AggregateKeyType": "IP", "ScopeDownStatement": scope}}})
		if err != nil {
			t.Fatal(err)
		}
		report, err := auto(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
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
			want := holds(scope, ev)
			if want {
				hits++
			}
			if _, got := meter.Match(ev); got != want {
				t.Fatalf("seed %d: %v for %+v, want %v\n%s\n%s", seed, got, ev, want, data, report.ConfigText("f"))
			}
		}
	}
	if accepted < seeds/2 || hits < accepted*requests/10 || whens < accepted/10 {
		t.Errorf("of %d statements %d were accepted, %d with an expression, and %d of %d requests matched", seeds, accepted, whens, hits, accepted*requests)
	}
}

// The texts of statements and of requests have parts in common, so that many match.
var (
	paths   = []string{"/", "/login", "/Login", "/api/v1/users", "/api/", "/a/b.php", "/search*", "/%25x"}
	hosts   = []string{"example.org", "www.example.org", "example.com"}
	methods = []string{"GET", "POST", "OPTIONS"}
	agents  = []string{"", "curl/8.0", `Bad"Bot\`, "Mozilla/5.0 (X11)", "'${HOME}' ünï"}
	queries = []string{"", "a=1", "action=delete&x=y"}
)

func request(r *rand.Rand) *edgeguard.Event {
	path := pick(r, paths)
	if q := pick(r, queries); q != "" {
		path += "?" + q
	}
	return &edgeguard.Event{
		Addr: netip.MustParseAddr("192.0.2.1"), Kind: edgeguard.KindRequest,
		Known: edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent,
		Host:  pick(r, hosts), Method: pick(r, methods), Agent: pick(r, agents), Path: path,
	}
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// piece returns a part of a text.
func piece(r *rand.Rand, text string) string {
	if text == "" || r.IntN(2) == 0 {
		return text
	}
	from := r.IntN(len(text))
	return strings.ToValidUTF8(text[from:from+1+r.IntN(len(text)-from)], "")
}

func statement(r *rand.Rand, depth int) object {
	if depth > 0 && r.IntN(2) == 0 {
		if r.IntN(3) == 0 {
			return object{"NotStatement": object{"Statement": statement(r, depth-1)}}
		}
		var parts []any
		for range 2 + r.IntN(2) {
			parts = append(parts, statement(r, depth-1))
		}
		return object{pick(r, []string{"AndStatement", "OrStatement"}): object{"Statements": parts}}
	}
	field, text := object{}, ""
	switch r.IntN(5) {
	case 0, 1:
		field, text = object{"UriPath": object{}}, strings.ReplaceAll(pick(r, paths), "%25", "%")
	case 2:
		field, text = object{"Method": object{}}, pick(r, methods)
	case 3:
		field, text = object{"SingleHeader": object{"Name": "Host"}}, pick(r, hosts)
	case 4:
		field, text = object{"SingleHeader": object{"Name": "user-agent"}}, pick(r, agents)
		if r.IntN(3) == 0 {
			field, text = object{"QueryString": object{}}, pick(r, queries)
		}
	}
	kind := "NONE"
	if text = piece(r, text); r.IntN(4) == 0 {
		kind, text = "LOWERCASE", strings.ToLower(text)
	}
	return object{"ByteMatchStatement": object{
		"FieldToMatch": field, "SearchString": text, "PositionalConstraint": pick(r, []string{"EXACTLY", "STARTS_WITH", "ENDS_WITH", "CONTAINS"}),
		"TextTransformations": []any{object{"Priority": 0, "Type": kind}},
	}}
}

// holds reads a statement as AWS's documentation describes it.
func holds(s object, ev *edgeguard.Event) bool {
	for name, inner := range s {
		body := inner.(object)
		switch name {
		case "NotStatement":
			return !holds(body["Statement"].(object), ev)
		case "AndStatement", "OrStatement":
			for _, part := range body["Statements"].([]any) {
				if holds(part.(object), ev) == (name == "OrStatement") {
					return name == "OrStatement"
				}
			}
			return name == "AndStatement"
		}
		value := valueOf(body["FieldToMatch"].(object), ev)
		if body["TextTransformations"].([]any)[0].(object)["Type"] == "LOWERCASE" {
			value = strings.ToLower(value)
		}
		text := body["SearchString"].(string)
		switch body["PositionalConstraint"] {
		case "EXACTLY":
			return value == text
		case "STARTS_WITH":
			return strings.HasPrefix(value, text)
		case "ENDS_WITH":
			return strings.HasSuffix(value, text)
		}
		return strings.Contains(value, text)
	}
	return false
}

func valueOf(field object, ev *edgeguard.Event) string {
	path, query, _ := strings.Cut(ev.Path, "?")
	switch {
	case field["UriPath"] != nil:
		return strings.ReplaceAll(path, "%25", "%")
	case field["QueryString"] != nil:
		return query
	case field["Method"] != nil:
		return ev.Method
	case field["SingleHeader"].(object)["Name"] == "Host":
		return ev.Host
	}
	return ev.Agent
}
