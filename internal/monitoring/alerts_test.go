package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// alertTest is one history of series and what comes of it at its end.
type alertTest struct {
	alert  string
	at     string
	series []string // NAME{LABELS} VALUES, one sample a minute
	// labels and summary are of the one alert that fires; empty if none does.
	labels, summary string
}

// Each alert fires once and does not fire once, on the same series: where it does
// not, the fault is just too small or too short.
var alertTests = []alertTest{
	{"EdgeguardDown", "4m", []string{`up{job="edgeguard",instance="a"} 1 0x10`}, `job: edgeguard, instance: a`, "a does not answer: it may count and refuse nothing"},
	{"EdgeguardDown", "4m", []string{`up{job="edgeguard",instance="a"} 1 0 1x10`}, "", ""},

	{"EdgeguardMissing", "11m", []string{`up{job="nginx",instance="a"} 1x20`}, `job: edgeguard`, "Prometheus scrapes no node as job edgeguard: no alert of edgeguard can work"},
	{"EdgeguardMissing", "11m", []string{`up{job="edgeguard",instance="a"} 0x20`}, "", ""},

	{"EdgeguardNotReady", "7m", []string{`edgeguard_ready{job="edgeguard",instance="a"} 1 0x10`}, `job: edgeguard, instance: a`, "a has not restored its state, or does not listen everywhere"},
	{"EdgeguardNotReady", "7m", []string{`edgeguard_ready{job="edgeguard",instance="a"} 1 0 0 0 1x10`}, "", ""},

	{"EdgeguardDegraded", "17m", []string{`edgeguard_conditions{job="edgeguard",instance="a"} 0 2x30`}, `job: edgeguard, instance: a`, "a has 2 active alarms: edgeguard top shows them, with the fix"},
	{"EdgeguardDegraded", "17m", []string{`edgeguard_conditions{job="edgeguard",instance="a"} 2x10 0x20`}, "", ""},

	{"EdgeguardReloadFailed", "3m", []string{`edgeguard_config_last_reload_successful{job="edgeguard",instance="a"} 1 0x10`}, `job: edgeguard, instance: a`, "a still uses the previous config: the new one does not load"},
	{"EdgeguardReloadFailed", "3m", []string{`edgeguard_config_last_reload_successful{job="edgeguard",instance="a"} 0 1x10`}, "", ""},

	{"EdgeguardStateNotSaved", "22m", []string{`edgeguard_snapshot_last_success_timestamp_seconds{job="edgeguard",instance="a"} 0x30`}, `job: edgeguard, instance: a`, "a saved its state 22m 0s ago: a restart would forget what came since"},
	{"EdgeguardStateNotSaved", "22m", []string{`edgeguard_snapshot_last_success_timestamp_seconds{job="edgeguard",instance="a"} 0+60x30`}, "", ""},

	{"EdgeguardVersionsDiffer", "7h", []string{`edgeguard_build_info{job="edgeguard",instance="a",version="1"} 1x500`, `edgeguard_build_info{job="edgeguard",instance="b",version="2"} 1x500`}, `job: edgeguard`, "2 versions of edgeguard have been running for six hours"},
	{"EdgeguardVersionsDiffer", "7h", []string{`edgeguard_build_info{job="edgeguard",instance="a",version="1"} 1x500`, `edgeguard_build_info{job="edgeguard",instance="b",version="1"} 1x500`}, "", ""},

	{"EdgeguardBlockSurge", "6m", []string{`edgeguard_blocks_total{job="edgeguard",instance="a",rule="site",action="block",origin="local"} 0+100x10`}, `job: edgeguard`, "500 blocks in 5 minutes, over ten times as many as an hour ago: an attack, or a rule that is too strict"},
	{"EdgeguardBlockSurge", "6m", []string{`edgeguard_blocks_total{job="edgeguard",instance="a",rule="site",action="block",origin="local"} 0+39x10`}, "", ""},
	{"EdgeguardBlockSurge", "66m", []string{`edgeguard_blocks_total{job="edgeguard",instance="a",rule="site",action="block",origin="local"} 0+100x90`}, "", ""},
	{"EdgeguardBlockSurge", "6m", []string{`edgeguard_blocks_total{job="edgeguard",instance="a",rule="site",action="block",origin="fleet"} 0+100x10`}, "", ""},

	{"EdgeguardRefusesTooMuch", "18m", []string{`edgeguard_events_total{job="edgeguard",instance="a",action="pass"} 0+40x30`, `edgeguard_events_total{job="edgeguard",instance="a",action="deny"} 0+60x30`}, `job: edgeguard`, "60% of all requests are refused: an attack, or a rule that is too strict"},
	{"EdgeguardRefusesTooMuch", "18m", []string{`edgeguard_events_total{job="edgeguard",instance="a",action="pass"} 0+51x30`, `edgeguard_events_total{job="edgeguard",instance="a",action="deny"} 0+49x30`}, "", ""},

	{"EdgeguardSpoofedFlood", "3m", []string{`edgeguard_spoofed_flood{job="edgeguard",instance="a"} 0 0 1x10`}, `job: edgeguard, instance: a`, "a sees a flood of fresh sources that complete no handshake: no address is blocked for it"},
	{"EdgeguardSpoofedFlood", "3m", []string{`edgeguard_spoofed_flood{job="edgeguard",instance="a"} 1 1 0x10`}, "", ""},

	{"EdgeguardSiteFails", "3m", []string{`edgeguard_site_fails{job="edgeguard",instance="a"} 0 0 1x10`}, `job: edgeguard, instance: a`, "a sees 1 parts of the site fail: rules that go by the status count no failures there"},
	{"EdgeguardSiteFails", "3m", []string{`edgeguard_site_fails{job="edgeguard",instance="a"} 1 1 0x10`}, "", ""},

	{"EdgeguardBlocksWait", "12m", []string{`edgeguard_blocks_held{job="edgeguard",instance="a"} 3x20`, `edgeguard_blocks_held{job="edgeguard",instance="b"} 1x20`}, `job: edgeguard`, "3 blocks of other nodes await confirmation and are not in force everywhere"},
	{"EdgeguardBlocksWait", "12m", []string{`edgeguard_blocks_held{job="edgeguard",instance="a"} 3x5 0x20`}, "", ""},

	{"EdgeguardBlocksFull", "8m", []string{`edgeguard_blocks_evicted_total{job="edgeguard",instance="a"} 0+60x10`}, `job: edgeguard, instance: a`, "The block list of a is full: 1 blocks a second are evicted for others"},
	{"EdgeguardBlocksFull", "8m", []string{`edgeguard_blocks_evicted_total{job="edgeguard",instance="a"} 60x10`}, "", ""},

	{"EdgeguardNothingCounted", "100m", []string{`edgeguard_events_total{job="edgeguard",instance="a",action="pass"} 0+60x70 4200x60`}, `job: edgeguard, instance: a`, "a has counted no request for 15 minutes, and did an hour ago"},
	{"EdgeguardNothingCounted", "100m", []string{`edgeguard_events_total{job="edgeguard",instance="a",action="pass"} 0+60x94 5640x60`}, "", ""},
	{"EdgeguardNothingCounted", "100m", []string{`edgeguard_events_total{job="edgeguard",instance="a",action="pass"} 0+5x70 350x60`}, "", ""},

	{"EdgeguardUncounted", "25m", []string{`edgeguard_uncounted_total{job="edgeguard",instance="a",source="auth :80",reason="no_client"} 0+5x30`, `edgeguard_requests_total{job="edgeguard",instance="a",source="auth :80"} 0+95x30`}, `job: edgeguard, instance: a, source: "auth :80"`, "5% of the requests of auth :80 on a are answered and not counted"},
	{"EdgeguardUncounted", "25m", []string{`edgeguard_uncounted_total{job="edgeguard",instance="a",source="auth :80",reason="no_client"} 0+1x30`, `edgeguard_requests_total{job="edgeguard",instance="a",source="auth :80"} 0+105x30`}, "", ""},
	{"EdgeguardUncounted", "25m", []string{`edgeguard_uncounted_total{job="edgeguard",instance="a",source="log x",reason="line_misfit"} 0+5x30`, `edgeguard_requests_total{job="edgeguard",instance="a",source="log x"} 0+95x30`}, "", ""},

	{"EdgeguardMemoryFull", "8m", []string{`edgeguard_refused_events_total{job="edgeguard",instance="a"} 0+60x10`, `edgeguard_undercounted_counts_total{job="edgeguard",instance="a"} 0+60x10`}, `job: edgeguard, instance: a`, "a counts 2 events a second not or too low, because its memory is full"},
	{"EdgeguardMemoryFull", "8m", []string{`edgeguard_refused_events_total{job="edgeguard",instance="a"} 60x10`, `edgeguard_undercounted_counts_total{job="edgeguard",instance="a"} 60x10`}, "", ""},

	{"EdgeguardSlowDecisions", "18m", []string{`edgeguard_decision_duration_seconds_bucket{job="edgeguard",instance="a",protocol="forward-auth",source="auth 127.0.0.1:9180",le="0.001"} 0+90x30`, `edgeguard_decision_duration_seconds_bucket{job="edgeguard",instance="a",protocol="forward-auth",source="auth 127.0.0.1:9180",le="0.002"} 0+100x30`, `edgeguard_decision_duration_seconds_bucket{job="edgeguard",instance="a",protocol="forward-auth",source="auth 127.0.0.1:9180",le="+Inf"} 0+100x30`}, `job: edgeguard, instance: a`, "One verdict in a hundred takes longer than 1.9ms on a"},
	{"EdgeguardSlowDecisions", "18m", []string{`edgeguard_decision_duration_seconds_bucket{job="edgeguard",instance="a",protocol="forward-auth",source="auth 127.0.0.1:9180",le="0.001"} 0+100x30`, `edgeguard_decision_duration_seconds_bucket{job="edgeguard",instance="a",protocol="forward-auth",source="auth 127.0.0.1:9180",le="0.002"} 0+100x30`, `edgeguard_decision_duration_seconds_bucket{job="edgeguard",instance="a",protocol="forward-auth",source="auth 127.0.0.1:9180",le="+Inf"} 0+100x30`}, "", ""},

	{"EdgeguardLogBehind", "4m", []string{`edgeguard_log_behind_bytes{job="edgeguard",instance="a",source="x.log"} 67108864x10`}, `job: edgeguard, instance: a, source: x.log`, "a has 64MiB of x.log still to read: blocks come late"},
	{"EdgeguardLogBehind", "4m", []string{`edgeguard_log_behind_bytes{job="edgeguard",instance="a",source="x.log"} 67108864x2 60000000x10`}, "", ""},

	{"EdgeguardLogLoses", "6m", []string{`edgeguard_log_lines_total{job="edgeguard",instance="a",source="x.sock",result="lost"} 0x3 9x10`, `edgeguard_log_lost_bytes_total{job="edgeguard",instance="a",source="x.sock"} 0x20`}, `job: edgeguard, instance: a, source: x.sock`, "Lines of x.sock were lost on a before they were read, or its HAProxy could not send lines: who is in them is not counted"},
	{"EdgeguardLogLoses", "6m", []string{`edgeguard_log_haproxy_dropped_total{job="edgeguard",instance="a",source="x.sock"} 0x3 73x10`}, `job: edgeguard, instance: a, source: x.sock`, "Lines of x.sock were lost on a before they were read, or its HAProxy could not send lines: who is in them is not counted"},
	{"EdgeguardLogLoses", "6m", []string{`edgeguard_log_lines_total{job="edgeguard",instance="a",source="x.log",result="lost"} 0x20`, `edgeguard_log_lost_bytes_total{job="edgeguard",instance="a",source="x.log"} 0x3 512x10`}, `job: edgeguard, instance: a, source: x.log`, "Lines of x.log were lost on a before they were read, or its HAProxy could not send lines: who is in them is not counted"},
	{"EdgeguardLogLoses", "6m", []string{`edgeguard_log_lines_total{job="edgeguard",instance="a",source="x.log",result="lost"} 9x20`, `edgeguard_log_lost_bytes_total{job="edgeguard",instance="a",source="x.log"} 512x20`}, "", ""},

	{"EdgeguardLogUnreadable", "25m", []string{`edgeguard_log_lines_total{job="edgeguard",instance="a",source="x.log",result="skipped"} 0+6x30`, `edgeguard_log_lines_total{job="edgeguard",instance="a",source="x.log",result="parsed"} 0+94x30`}, `job: edgeguard, instance: a, source: x.log`, "6% of the lines of x.log on a are not of the format in the config"},
	{"EdgeguardLogUnreadable", "25m", []string{`edgeguard_log_lines_total{job="edgeguard",instance="a",source="x.log",result="skipped"} 0+4x30`, `edgeguard_log_lines_total{job="edgeguard",instance="a",source="x.log",result="parsed"} 0+96x30`}, "", ""},

	{"EdgeguardEnforcerFails", "3m", []string{`edgeguard_enforcer_failing{job="edgeguard",instance="a",enforcer="nft"} 0 3x10`}, `job: edgeguard, instance: a, enforcer: nft`, "nft on a failed 3 times in a row: its list is not in force as it should be"},
	{"EdgeguardEnforcerFails", "3m", []string{`edgeguard_enforcer_failing{job="edgeguard",instance="a",enforcer="nft"} 2x10`}, "", ""},

	{"EdgeguardEnforcerBehind", "9m", []string{`edgeguard_enforcer_entries{job="edgeguard",instance="a",enforcer="nft",state="intended"} 10x20`, `edgeguard_enforcer_entries{job="edgeguard",instance="a",enforcer="nft",state="installed"} 7x20`, `edgeguard_enforcer_last_success_timestamp_seconds{job="edgeguard",instance="a",enforcer="nft"} 0x20`}, `job: edgeguard, instance: a, enforcer: nft`, "nft on a should have 10 entries, and has not changed its list for minutes"},
	{"EdgeguardEnforcerBehind", "9m", []string{`edgeguard_enforcer_entries{job="edgeguard",instance="a",enforcer="nft",state="intended"} 10x20`, `edgeguard_enforcer_entries{job="edgeguard",instance="a",enforcer="nft",state="installed"} 7x20`, `edgeguard_enforcer_last_success_timestamp_seconds{job="edgeguard",instance="a",enforcer="nft"} 0+60x20`}, "", ""},
	{"EdgeguardEnforcerBehind", "9m", []string{`edgeguard_enforcer_entries{job="edgeguard",instance="a",enforcer="nft",state="intended"} 10x20`, `edgeguard_enforcer_entries{job="edgeguard",instance="a",enforcer="nft",state="installed"} 10x20`, `edgeguard_enforcer_last_success_timestamp_seconds{job="edgeguard",instance="a",enforcer="nft"} 0x20`}, "", ""},

	{"EdgeguardFleetCutOff", "5m", []string{`edgeguard_redis_up{job="edgeguard",instance="a"} 1 0x10`, `edgeguard_redis_up{job="edgeguard",instance="b"} 1x12`}, `job: edgeguard, instance: a`, "a decides alone: an offender who spreads over the nodes is not found there"},
	{"EdgeguardFleetCutOff", "5m", []string{`edgeguard_redis_up{job="edgeguard",instance="a"} 0 0 1x10`}, "", ""},

	{"EdgeguardFleetAllCutOff", "5m", []string{`edgeguard_redis_up{job="edgeguard",instance="a"} 1 0x10`, `edgeguard_redis_up{job="edgeguard",instance="b"} 1 0x12`}, `job: edgeguard`, "All nodes decide alone: none has joined its fleet in Redis"},
	{"EdgeguardFleetAllCutOff", "5m", []string{`edgeguard_redis_up{job="edgeguard",instance="a"} 1 0x10`, `edgeguard_redis_up{job="edgeguard",instance="b"} 1x12`}, "", ""},

	{"EdgeguardPushLag", "4m", []string{`edgeguard_sync_lag_seconds{job="edgeguard",instance="a"} 30x10`, `edgeguard_redis_up{job="edgeguard",instance="a"} 1x10`}, `job: edgeguard, instance: a`, "a reports its counts to the fleet 30s late"},
	{"EdgeguardPushLag", "4m", []string{`edgeguard_sync_lag_seconds{job="edgeguard",instance="a"} 9x10`, `edgeguard_redis_up{job="edgeguard",instance="a"} 1x10`}, "", ""},
	{"EdgeguardPushLag", "4m", []string{`edgeguard_sync_lag_seconds{job="edgeguard",instance="a"} 30x10`, `edgeguard_redis_up{job="edgeguard",instance="a"} 0x10`}, "", ""},

	{"EdgeguardSlowFanOut", "7m", []string{`edgeguard_fanout_latency_seconds{job="edgeguard",instance="a",of="longest"} 3x10`}, `job: edgeguard, instance: a, of: longest`, "Blocks of other nodes reach a after 3s"},
	{"EdgeguardSlowFanOut", "7m", []string{`edgeguard_fanout_latency_seconds{job="edgeguard",instance="a",of="longest"} 3x4 1x10`}, "", ""},

	{"EdgeguardClockSkew", "7m", []string{`edgeguard_fleet_clock_ahead_seconds{job="edgeguard",instance="a"} -0.75x10`, `edgeguard_fleet_clock_within_seconds{job="edgeguard",instance="a"} 0.25x10`}, `job: edgeguard, instance: a`, "The clock of a differs from that of Redis by at least 500ms"},
	{"EdgeguardClockSkew", "7m", []string{`edgeguard_fleet_clock_ahead_seconds{job="edgeguard",instance="a"} 0.75x10`, `edgeguard_fleet_clock_within_seconds{job="edgeguard",instance="a"} 0.7x10`}, "", ""},
}

// promtool returns the path of Prometheus's checker.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt-get install prometheus)")
	}
	return path
}

func TestAlertsAreTestedBothWays(t *testing.T) {
	for i := range alerts {
		fires, silent := 0, 0
		for _, test := range alertTests {
			if test.alert != alerts[i].name {
				continue
			}
			if test.summary != "" {
				fires++
			} else {
				silent++
			}
		}
		if fires == 0 || silent == 0 {
			t.Errorf("%s: %d tests in which it fires, %d in which it does not: add one", alerts[i].name, fires, silent)
		}
	}
	for _, test := range alertTests {
		if !slices.ContainsFunc(alerts, func(a alert) bool { return a.name == test.alert }) {
			t.Errorf("a test of %s, which is not an alert", test.alert)
		}
	}
}

func TestAlerts(t *testing.T) {
	promtool := promtool(t)
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yml")
	if err := os.WriteFile(rules, []byte(rulesFile(runbooks)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", rules).CombinedOutput(); err != nil {
		t.Fatalf("promtool check rules: %v\n%s", err, out)
	}
	var file strings.Builder
	file.WriteString("rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n")
	for _, test := range alertTests {
		test.write(&file)
	}
	tests := filepath.Join(dir, "tests.yml")
	if err := os.WriteFile(tests, []byte(file.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", tests).CombinedOutput(); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
}

// write adds the test to a file of promtool's.
func (a *alertTest) write(b *strings.Builder) {
	b.WriteString("- interval: 1m\n  input_series:\n")
	for _, series := range a.series {
		end := strings.LastIndex(series, "} ") + 1
		fmt.Fprintf(b, "  - {series: %s, values: %s}\n", quoted(series[:end]), quoted(series[end+1:]))
	}
	fmt.Fprintf(b, "  alert_rule_test:\n  - eval_time: %s\n    alertname: %s\n    exp_alerts:", a.at, a.alert)
	if a.summary == "" {
		b.WriteString(" []\n")
		return
	}
	of := alerts[slices.IndexFunc(alerts, func(known alert) bool { return known.name == a.alert })]
	fmt.Fprintf(b, "\n    - exp_labels: {severity: %s, %s}\n", of.severity, a.labels)
	fmt.Fprintf(b, "      exp_annotations: {summary: %s, runbook_url: %s}\n", quoted(a.summary), quoted(of.runbook(runbooks)))
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// Whoever is woken up finds what to do.
func TestRunbooks(t *testing.T) {
	page, err := os.ReadFile("../../" + runbooks)
	if err != nil {
		t.Fatal(err)
	}
	anchors := make(map[string]bool)
	for _, found := range heading.FindAllStringSubmatch(string(page), -1) {
		name := strings.TrimSpace(found[1])
		anchors[runbooks+"#"+strings.ReplaceAll(strings.ToLower(name), " ", "-")] = true
		if strings.HasPrefix(name, "Edgeguard") && !slices.ContainsFunc(alerts, func(a alert) bool { return a.name == name }) {
			t.Errorf("%s describes %s, which is not an alert", runbooks, name)
		}
	}
	for i := range alerts {
		if !anchors[alerts[i].runbook(runbooks)] {
			t.Errorf("%s has no heading %q", runbooks, alerts[i].name)
		}
	}
}

// Where the page's address is given, each alert has a link that a chat can open.
func TestRunbooksElsewhere(t *testing.T) {
	const page = "https://git.example.net/edgeguard/docs/operations.md"
	folder := t.TempDir()
	if err := run(folder, page); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(filepath.Join(folder, "prometheus", "rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if links := strings.Count(string(made), "runbook_url: '"+page+"#edgeguard"); links != len(alerts) || strings.Count(string(made), "runbook_url:") != links {
		t.Errorf("%d of %d alerts have such a link", links, len(alerts))
	}
	for _, wrong := range []string{"", "operations.md", "//git.example.net/x", "https:/x", "https://git.example.net/x#y", "file:///x", "javascript:alert(1)"} {
		if run(t.TempDir(), wrong) == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
