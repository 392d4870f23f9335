package rules

import (
	"testing"

	"edgeguard"
)

// What stands in a target's place decides, where it is known; what is not known satisfies neither
// a term nor its not.
func TestTarget(t *testing.T) {
	own, problems := ParseHosts([]string{"example.org"})
	if problems != nil {
		t.Fatal(problems)
	}
	const path, both = edgeguard.FieldPath, edgeguard.FieldPath | edgeguard.FieldMethod
	events := map[string]edgeguard.Event{
		"path":      {Known: both, Path: "/a?b=http://c"},
		"asterisk":  {Known: both, Path: "*"},
		"authority": {Known: both, Path: "example.com:443"},
		"own":       {Known: both, Path: "http://Example.org:80/a"},
		"foreign":   {Known: path, Path: "http://example.com/"},
		"tls":       {Stray: edgeguard.StrayTLS},
		"not_http":  {Stray: edgeguard.StrayBytes},
		"":          {},
	}
	compile := func(m Match, own *Hosts) *Meter {
		set, problems := Compile([]Spec{{Name: "r", Threshold: 1, Match: m, Own: own}})
		if problems != nil {
			t.Fatal(problems)
		}
		return &set.Meters[0]
	}
	for is, ev := range events {
		ev.Kind = edgeguard.KindRequest
		for _, asked := range targetNames {
			for _, hosts := range []*Hosts{nil, own} {
				known := is != "" && (hosts != nil || is != "own" && is != "foreign")
				if _, ok := compile(Match{Target: []string{asked}}, hosts).Match(&ev); ok != (known && is == asked) {
					t.Errorf("%q, hosts known %v: matches %s: %v", is, hosts != nil, asked, ok)
				}
				if _, ok := compile(Match{Not: &Match{Target: []string{asked}}}, hosts).Match(&ev); ok != (known && is != asked) {
					t.Errorf("%q, hosts known %v: matches not %s: %v", is, hosts != nil, asked, ok)
				}
			}
		}
	}
	plain, foreign := compile(Match{Target: []string{"tls"}}, own), compile(Match{Target: []string{"foreign"}}, own)
	if plain.Fingerprint != compile(Match{Target: []string{"tls"}}, nil).Fingerprint {
		t.Error("the site's names change a meter that does not ask for them")
	}
	if foreign.Fingerprint == compile(Match{Target: []string{"foreign"}}, nil).Fingerprint || foreign.Terms().Uncountable == nil {
		t.Error("a meter that asks for the site's names is one that does not, or another program would count it")
	}
	if _, problems := Compile([]Spec{{Name: "r", Threshold: 1, Match: Match{Target: []string{"CONNECT"}}}}); problems == nil {
		t.Error("an unknown value is taken")
	}
}
