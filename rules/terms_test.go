package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard"
)

func TestTerms(t *testing.T) {
	many := []string{"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/a*"}
	set, problems := Compile([]Spec{{Name: "a", Threshold: 1, Cost: 2, When: `agent == ""`, Match: Match{
		Host: []string{"*.Example.org"}, Method: []string{"post"}, Path: many, Status: []string{"4xx", "500", "450"},
		Not: &Match{Path: []string{"/4", "/x*y**z"}, Kind: []string{"packet"}},
	}}, {Name: "b", Threshold: 1, Costs: []Charge{{Cost: 2, Match: Match{Method: []string{"PUT"}}}}}})
	if problems != nil {
		t.Fatal(problems)
	}
	var any []Glob
	for _, path := range many[:9] {
		any = append(any, Glob{path})
	}
	any = append(any, Glob{"/a", ""})
	want := []Terms{{
		Fields:   edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus,
		Host:     Texts{Any: []Glob{{"", ".example.org"}}},
		Method:   Texts{Any: []Glob{{"POST"}}},
		Path:     Texts{Any: any, None: []Glob{{"/4"}, {"/x", "y", "z"}}},
		Status:   []Range{{400, 500}},
		NotKinds: edgeguard.KindPacket, When: true, Cost: 2,
	}, {Costs: true, Cost: 1}}
	if diff := cmp.Diff(want, []Terms{set.Meters[0].Terms(), set.Meters[1].Terms()}); diff != "" {
		t.Error(diff)
	}
}
