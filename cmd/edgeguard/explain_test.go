package main

import (
	"bytes"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
	"edgeguard/internal/words"
)

// TestPrintDistinct: explain says what a rule counts, and not its costs.
func TestPrintDistinct(t *testing.T) {
	slots := make([]uint16, 60)
	slots[59] = 24
	for field, want := range map[string]string{
		"path": "rule probing: 12 different paths in 5m, limit 10 (threshold 20, each counts 2): block\n",
		"":     "rule probing: 12 attempts in 5m, limit 10 (threshold 20, each counts 2): block\n",
	} {
		var out bytes.Buffer
		unit := words.Measure{Each: 2, One: "different path", Many: "different paths", Exact: 400}
		if field == "" {
			unit = words.Measure{Each: 2, One: "attempt", Many: "attempts"}
		}
		printRuleCount(&command.Env{Stdout: &out}, &admin.RuleCount{Rule: "probing", Does: "block", Distinct: field, Count: 24, Limit: 20, Threshold: 20, Unit: unit, Window: 300, Slots: slots, Candidates: []admin.CandidateCount{{Threshold: 30, Limit: 30}}})
		if got := out.String(); !strings.Contains(got, want) || !strings.Contains(got, "\n  under candidate 30 (limit 15)\n") || strings.Contains(got, "each value where it was last seen") != (field != "") {
			t.Errorf("%q:\n%s", field, got)
		}
	}
}

// TestStartDistinct: serve says at its start what such a rule counts, and prints no
// command that it would not count.
func TestStartDistinct(t *testing.T) {
	c, err := config.Parse("c.yaml", []byte("node: n\nrules:\n  - {name: probing, match: {status: 4xx}, count: {distinct: path}, threshold: 20}\n  - {name: all, threshold: 9}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	printStart(&command.Env{Stdout: &out}, c, true)
	for text, want := range map[string]bool{
		"rule probing: over 19 different paths in 5m (threshold 20 × guard 0.95): block for 10m\n": true,
		"rule all: over 9 requests in 5m (threshold 9 × guard 0.95): block for 10m\n":              true,
		"try it": false,
	} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("%q: %t, want %t in\n%s", text, !want, want, out.String())
		}
	}
}

// TestExplainSilent: rules for which nothing is counted are one line.
func TestExplainSilent(t *testing.T) {
	var out bytes.Buffer
	printExplanation(&command.Env{Stdout: &out}, &admin.Explanation{Standing: "none", Rules: []admin.RuleCount{
		{Rule: "site", Does: "block", Limit: 9, Threshold: 9, Window: 300},
		{Rule: "login", Does: "block", Count: 3, Limit: 9, Threshold: 9, Window: 300},
		{Rule: "fleet", Does: "block", Scope: "fleet", Limit: 9, Threshold: 9, Window: 300}, // what the others count is unknown
		{Rule: "scan", Does: "block", Limit: 9, Threshold: 9, Window: 300},
	}})
	text := out.String()
	if !strings.Contains(text, "nothing is counted now by: site, scan\n") || !strings.Contains(text, "rule login: count 3 in 5m, limit 9 (threshold 9)") || !strings.Contains(text, "rule fleet: ") || strings.Contains(text, "rule site") {
		t.Error(text)
	}
}
