package migrate_test

import (
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/migrate"
	"edgeguard/migrate/migratetest"
	"edgeguard/rules"
)

// Names are unique, and such as a rule can have.
func TestNames(t *testing.T) {
	report := &migrate.Report{From: "a test"}
	for _, name := range []string{"login", "login", "a b/c\n", "", "---", "manual", strings.Repeat("ü", 100), strings.Repeat("x", 100), strings.Repeat("x", 100), "login-2", "no", "7"} {
		report.Add(&migrate.Draft{Called: name, Spec: rules.Spec{Threshold: 5, Window: time.Minute, Action: edgeguard.ActionDeny}}, name)
	}
	var got []string
	for _, s := range report.Specs() {
		got = append(got, s.Name)
	}
	want := "login login-2 a-b-c imported imported-2 manual-2 imported-3 " + strings.Repeat("x", 56) + " " + strings.Repeat("x", 56) + "-2 login-2-2 no 7"
	if strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	migratetest.Accepted(t, report)
}

// A rule that edgeguard refuses is refused, with the reason.
func TestRefusedByEdgeguard(t *testing.T) {
	report := &migrate.Report{From: "a test"}
	report.Add(&migrate.Draft{Called: "large", Spec: rules.Spec{Threshold: 1 << 20, Window: time.Minute}}, "large")
	report.Add(&migrate.Draft{Called: "odd", Spec: rules.Spec{Threshold: 1, Window: time.Second}}, "odd")
	report.Leave("something\n- name: x")
	missing := report.Missing()
	if len(report.Specs()) != 0 || len(missing) != 3 || !strings.Contains(missing[0], "limit over 65534") || !strings.Contains(missing[1], "window") || strings.Contains(missing[2], "\n") {
		t.Errorf("%q", missing)
	}
	migratetest.Accepted(t, report)
}
