package rules_test

import (
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// TestProvokable: what a page elsewhere can have a browser send, with all that it can choose.
func TestProvokable(t *testing.T) {
	own, _ := rules.ParseHosts([]string{"example.org", "*.example.org"})
	const all = edgeguard.FieldMethod | edgeguard.FieldAgent | edgeguard.FieldReferer | edgeguard.FieldFetchSite | edgeguard.FieldHost
	page := edgeguard.Event{Kind: edgeguard.KindRequest, Known: all, Method: "POST", Agent: "Mozilla/5.0 (X11)", Host: "shop.example.net", Referer: "https://elsewhere.example/", FetchSite: "cross-site"}
	for _, test := range []struct {
		name   string
		change func(*edgeguard.Event)
		own    *rules.Hosts
		want   bool
	}{
		{"a foreign page", func(*edgeguard.Event) {}, own, true},
		{"no Referer, as a page may have it", func(e *edgeguard.Event) { e.Referer = "" }, own, true},
		{"another part of the site", func(e *edgeguard.Event) { e.Referer, e.FetchSite = "", "same-site" }, own, true},
		{"nothing known but what was asked", func(e *edgeguard.Event) { e.Known = edgeguard.FieldPath }, own, true},
		{"a combined log, no own_hosts", func(e *edgeguard.Event) { e.Known &^= edgeguard.FieldHost | edgeguard.FieldFetchSite }, nil, true},
		{"fields that are not known say nothing", func(e *edgeguard.Event) { e.Known, e.Method, e.Agent, e.FetchSite = 0, "PUT", "curl", "none" }, own, true},
		{"a foreign name that ends as an own one", func(e *edgeguard.Event) { e.Referer, e.FetchSite = "https://badexample.org/", "" }, own, true},
		{"no host, and a Referer that is no address", func(e *edgeguard.Event) { e.Host, e.Referer, e.FetchSite = "", "x", "" }, own, true},
		{"own page", func(e *edgeguard.Event) { e.Referer, e.FetchSite = "https://www.example.org/login", "" }, own, false},
		{"page of the host that was asked", func(e *edgeguard.Event) { e.Referer, e.FetchSite = "https://SHOP.example.net:443/", "" }, nil, false},
		{"same origin", func(e *edgeguard.Event) { e.Referer, e.FetchSite = "", "same-origin" }, nil, false},
		{"typed", func(e *edgeguard.Event) { e.Referer, e.FetchSite = "", "none" }, nil, false},
		{"a method that is asked for first", func(e *edgeguard.Event) { e.Method = "PROPFIND" }, own, false},
		{"no browser", func(e *edgeguard.Event) { e.Agent = "python-requests/2.32" }, own, false},
		{"no agent", func(e *edgeguard.Event) { e.Agent = "" }, own, false},
		{"no HTTP", func(e *edgeguard.Event) { e.Kind = edgeguard.KindAuthFailure }, own, false},
	} {
		ev := page
		test.change(&ev)
		if got := rules.Provokable(&ev, test.own); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
