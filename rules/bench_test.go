package rules_test

import (
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// fourTerms is the rule that the figure of at most 20 ns is about.
var fourTerms = rules.Spec{
	Name:      "login",
	Threshold: 20,
	Match: rules.Match{
		Host:   []string{"www.example.org", "example.org"},
		Method: []string{"POST"},
		Path:   []string{"/wp-login.php*", "/xmlrpc.php"},
		Status: []string{"200", "4xx"},
	},
}

func BenchmarkMatch(b *testing.B) {
	meter := &compile(b, fourTerms).Meters[0]
	for _, bench := range []struct {
		name, host, method, path string
		want                     bool
	}{
		{"hit", "www.example.org", "POST", "/wp-login.php", true},
		{"hit exact", "example.org", "POST", "/xmlrpc.php", true},
		{"query", "www.example.org", "POST", "/wp-login.php?action=register&redirect_to=%2F", true},
		{"method misses", "www.example.org", "GET", "/wp-login.php", false},
		{"path misses", "www.example.org", "POST", "/wp-admin/admin-ajax.php", false},
		{"long path misses", "www.example.org", "POST", "/wp-content/themes/twentysixteen/js/html5/skip-link-focus-fix.js", false},
		{"odd path", "www.example.org", "POST", "//xmlrpc.php", true},
		{"odd host", "WWW.example.org:443", "POST", "/wp-login.php", true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			ev := request(bench.host, bench.method, bench.path)
			ev.Kind, ev.Status, ev.Known = edgeguard.KindResponse, 200, ev.Known|edgeguard.FieldStatus
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := meter.Match(&ev); ok != bench.want {
					b.Fatalf("Match is %v", ok)
				}
			}
		})
	}
}

func BenchmarkWith(b *testing.B) {
	meter := &compile(b, rules.Spec{
		Name: "api", Threshold: 20, Action: edgeguard.ActionDeny,
		Key: rules.Group{With: []string{"host", "path"}},
	}).Meters[0]
	ev := request("www.example.org", "GET", "/search?q=1")
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := meter.AppendAttributes(&ev, buf[:0]); !ok {
			b.Fatal("no key")
		}
	}
}
