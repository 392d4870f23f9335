package rules_test

import (
	"math/rand/v2"
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// A meter spares outages if its match or its expression looks at the status, and not by its
// costs alone.
func TestSparesOutages(t *testing.T) {
	status := rules.Match{Status: []string{"404"}}
	for name, test := range map[string]struct {
		spec rules.Spec
		want bool
	}{
		"status":           {rules.Spec{Match: status}, true},
		"not a status":     {rules.Spec{Match: rules.Match{Path: []string{"/a"}, Not: &status}}, true},
		"an expression":    {rules.Spec{When: `status >= 400 and path contains ".php"`}, true},
		"a path":           {rules.Spec{Match: rules.Match{Path: []string{"/login"}}}, false},
		"another word":     {rules.Spec{When: `path contains "status"`}, false},
		"a cost":           {rules.Spec{Costs: []rules.Charge{{Match: status, Cost: 5}}}, false},
		"a failed login":   {rules.Spec{Match: rules.Match{Kind: []string{"auth_failure"}}}, false},
		"responses, every": {rules.Spec{Match: rules.Match{Kind: []string{"response"}}}, false},
	} {
		test.spec.Name, test.spec.Threshold = "r", 10
		if got := compile(t, test.spec).Meters[0].SparesOutages(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Which names the first that a host has, however it is written; none is no name.
func TestWhich(t *testing.T) {
	own, problems := rules.ParseHosts([]string{"example.org", "*.shop.example.org", "*.example.org", "www.example.org", "xn--*.example"})
	if problems != nil {
		t.Fatal(problems)
	}
	for host, want := range map[string]int{
		"example.org": 0, "EXAMPLE.org:443": 0, "example.org.": 0, "a.shop.example.org": 1, "www.example.org": 2, "WWW.example.org": 2,
		"xn--a.example": 4, "": -1, "example.com": -1, "org": -1,
	} {
		if i, ok := own.Which(host); ok != (want >= 0) || ok && i != want {
			t.Errorf("%q: %d, %t, want %d", host, i, ok, want)
		}
	}
	if _, ok := (*rules.Hosts)(nil).Which("example.org"); ok || (*rules.Hosts)(nil).Len() != 0 || own.Len() != 5 {
		t.Error("nil has names")
	}
	again, _ := rules.ParseHosts([]string{"example.org", "*.shop.example.org", "*.example.org", "www.example.org", "xn--*.example"})
	fewer, _ := rules.ParseHosts([]string{"example.org"})
	if !own.SameNames(again) || own.SameNames(fewer) || own.SameNames(nil) || !(*rules.Hosts)(nil).SameNames(nil) {
		t.Error("same")
	}
}

// TestWhichSlow holds Which against matching each name alone.
func TestWhichSlow(t *testing.T) {
	labels := []string{"a", "b", "*", "*b", "a*"}
	texts := []string{"a", "b", "ab", "ba", "B", "aab"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var names []string
		for range 1 + r.IntN(4) {
			names = append(names, labels[r.IntN(len(labels))]+"."+labels[r.IntN(len(labels))])
		}
		own, problems := rules.ParseHosts(names)
		if problems != nil {
			t.Fatal(problems)
		}
		host := texts[r.IntN(len(texts))] + "." + texts[r.IntN(len(texts))]
		want := -1
		for i, name := range unique(names) {
			spec := rules.Spec{Name: "r", Threshold: 1, Match: rules.Match{Host: []string{name}}}
			ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldHost, Host: host}
			if _, ok := compile(t, spec).Meters[0].Match(&ev); ok {
				want = i
				break
			}
		}
		if i, ok := own.Which(host); ok != (want >= 0) || ok && i != want {
			t.Fatalf("%q of %q: %d, %t, want %d", host, names, i, ok, want)
		}
	}
}

func unique(names []string) (out []string) {
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			seen[name], out = true, append(out, name)
		}
	}
	return out
}

func BenchmarkWhich(b *testing.B) {
	own, _ := rules.ParseHosts([]string{"example.org", "www.example.org", "*.example.org"})
	for name, host := range map[string]string{"name": "www.example.org", "pattern": "shop.example.org", "none": "203.0.113.7"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				own.Which(host)
			}
		})
	}
}
