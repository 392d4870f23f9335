package main

import (
	"bytes"
	"strings"
	"testing"

	"edgeguard/admin"
)

// TestPrintDistinct: explain says what a rule of different values counts.
func TestPrintDistinct(t *testing.T) {
	slots := make([]uint16, 60)
	slots[59] = 24
	for field, want := range map[string]string{
		"path": "rule probing: 24 different paths in 5m, limit 19 (threshold 20): block\n",
		"":     "rule probing: 24 of 19 in 5m (threshold 20): block\n",
	} {
		var out bytes.Buffer
		printRuleCount(&env{stdout: &out}, &admin.RuleCount{Rule: "probing", Does: "block", Distinct: field, Count: 24, Limit: 19, Threshold: 20, Window: 300, Slots: slots})
		if got := out.String(); !strings.Contains(got, want) || strings.Contains(got, "each value where it was last seen") != (field != "") {
			t.Errorf("%q:\n%s", field, got)
		}
	}
}
