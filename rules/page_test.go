package rules_test

import (
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// byPage costs 4, and 1 where the page is as the match says.
func byPage(own *rules.Hosts, match rules.Match) rules.Spec {
	return rules.Spec{Name: "a", Threshold: 20, Cost: 4, Own: own, Costs: []rules.Charge{{Match: match, Cost: 1}}}
}

func hosts(t *testing.T, names ...string) *rules.Hosts {
	t.Helper()
	own, problems := rules.ParseHosts(names)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return own
}

// A referer that is there is own or foreign. Whose it is, is known by the site's
// names alone.
func TestReferer(t *testing.T) {
	own := hosts(t, "shop.example", "*.Shop.example")
	none, mine, foreign, some := []string{"none"}, []string{"own"}, []string{"foreign"}, []string{"own", "foreign"}
	for _, c := range []struct {
		from string
		own  *rules.Hosts
		want []string
	}{
		{"", own, none}, {"", nil, none},
		{"https://shop.example/a?b", own, mine}, {"https://SHOP.example:8443/", own, mine}, {"https://www.shop.example.", own, mine},
		{"http://u:p@shop.example/", own, mine}, {"http://shop.example?x", own, mine}, {"android-app://shop.example/", own, mine},
		{"https://forum.example/t/1", own, foreign}, {"https://shop.example.evil.example/", own, foreign},
		{"https://evil.example/shop.example/", own, foreign}, {"https://shop.example@evil.example/", own, foreign},
		{"https://evil.example\\@shop.example/", own, foreign}, {"https://evil.example#@shop.example", own, foreign},
		{"shop.example", own, foreign}, {"-", own, foreign}, {"://", own, foreign}, {"https://[::1]:80/", own, foreign},
		{"https://shop.example/", nil, some}, {"x", nil, some},
	} {
		for _, values := range [][]string{none, mine, foreign, some, {"none", "own"}, {"none", "own", "foreign"}} {
			m := &compile(t, byPage(c.own, rules.Match{Referer: values})).Meters[0]
			ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldReferer, Referer: c.from}
			want := uint16(4)
			if subset(c.want, values) {
				want = 1
			}
			if cost, ok := m.Match(&ev); !ok || cost != want {
				t.Errorf("%q is in %v, own hosts known %v: cost %d, want %d", c.from, values, c.own != nil, cost, want)
			}
		}
	}
}

// subset reports whether all of a are among b: what is not known for certain is not said.
func subset(a, b []string) bool {
	in := make(map[string]bool)
	for _, v := range b {
		in[v] = true
	}
	for _, v := range a {
		if !in[v] {
			return false
		}
	}
	return true
}

// A header that the source does not know makes nothing cheaper, and other terms of the
// cost hold beside it.
func TestPage(t *testing.T) {
	m := &compile(t, byPage(nil, rules.Match{Path: []string{"*.png"}, FetchSite: []string{"cross-site", "same-site"}})).Meters[0]
	known := edgeguard.FieldPath | edgeguard.FieldFetchSite
	for _, c := range []struct {
		path, site string
		known      edgeguard.Field
		want       uint16
	}{
		{"/a.png", "cross-site", known, 1},
		{"/%61.png", "same-site", known, 1},
		{"/a.png", "none", known, 4},
		{"/a.png", "", known, 4},
		{"/a.png", "Cross-Site", known, 4},
		{"/a.php", "cross-site", known, 4},
		{"/a.png", "cross-site", edgeguard.FieldPath, 4},
	} {
		ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: c.known, Path: c.path, FetchSite: c.site}
		if cost, ok := m.Match(&ev); !ok || cost != c.want {
			t.Errorf("%+v: cost %d", c, cost)
		}
	}
	if m.Fields() != 0 {
		t.Errorf("requires %v: a source without the header would count nothing", m.Fields())
	}
}

// What changes a cost is part of the meter's fingerprint, and how it is written is not.
func TestPageFingerprint(t *testing.T) {
	print := func(own *rules.Hosts, m rules.Match) string {
		return compile(t, byPage(own, m)).Meters[0].Fingerprint
	}
	a, b := hosts(t, "a.example", "b.example"), hosts(t, "b.example", "A.example")
	mine := rules.Match{Referer: []string{"own"}}
	if print(a, mine) != print(b, mine) {
		t.Error("the order of own hosts makes another meter")
	}
	if print(a, rules.Match{Referer: []string{"own", "foreign"}}) != print(nil, rules.Match{Referer: []string{"foreign", "own"}}) {
		t.Error("own hosts that do not matter make another meter")
	}
	seen := map[string]int{}
	for i, f := range []string{
		print(a, mine), print(nil, mine), print(hosts(t, "a.example"), mine), print(a, rules.Match{Referer: []string{"foreign"}}),
		print(a, rules.Match{}), print(a, rules.Match{FetchSite: []string{"none"}}), print(a, rules.Match{Referer: []string{"none"}}),
	} {
		if first, ok := seen[f]; ok {
			t.Errorf("%d counts as %d", i, first)
		}
		seen[f] = i
	}
}

func TestParseHosts(t *testing.T) {
	for name, want := range map[string]string{"a.example:80": "without their port", "": "invalid host", "https://a.example": "invalid host", "a.example.": "trailing dot"} {
		_, problems := rules.ParseHosts([]string{"good.example", name})
		if len(problems) != 1 || problems[0].Path != "[1]" || !strings.Contains(problems[0].Text, want) {
			t.Errorf("%q: %v", name, problems)
		}
	}
}
