package main

import (
	"fmt"
	"strings"
)

// recording is a series that Prometheus computes at each evaluation.
type recording struct{ name, expr string }

// recordings are what an alert compares and an operator plots beside it. Their names are as Prometheus
// recommends: the labels that are left, the metric, what was done.
var recordings = []recording{
	{"job:edgeguard_denied:ratio_rate5m", `sum by (job) (rate(edgeguard_events_total{action="deny"}[5m])) / sum by (job) (rate(edgeguard_events_total[5m]))`},
	{"instance:edgeguard_decision_duration_seconds:p99_5m", `histogram_quantile(0.99, sum by (job, instance, le) (rate(edgeguard_decision_duration_seconds_bucket[5m])))`},
}

// runbooks is the page that says what to do about an alert. Each alert has a
// heading there.
const runbooks = "docs/operations.md"

// runbook returns where an alert is explained.
func (a *alert) runbook() string { return runbooks + "#" + strings.ToLower(a.name) }

// rulesFile returns the rules as Prometheus reads them. It is written here and
// not by a YAML module, because the few forms that it has are all that is
// needed, and an operator is to read the file.
func rulesFile() string {
	var b strings.Builder
	b.WriteString("# Made by `go run ./internal/monitoring`. Change alerts.go or rules.go there, not this file.\n")
	b.WriteString("groups:\n- name: edgeguard.rules\n  rules:\n")
	for _, r := range recordings {
		fmt.Fprintf(&b, "  - record: %s\n    expr: %s\n", r.name, quoted(r.expr))
	}
	b.WriteString("- name: edgeguard.alerts\n  rules:\n")
	for i := range alerts {
		a := &alerts[i]
		fmt.Fprintf(&b, "  - alert: %s\n    expr: %s\n", a.name, quoted(a.expr))
		if a.hold != "" {
			fmt.Fprintf(&b, "    for: %s\n", a.hold)
		}
		fmt.Fprintf(&b, "    labels:\n      severity: %s\n", a.severity)
		fmt.Fprintf(&b, "    annotations:\n      summary: %s\n      runbook_url: %s\n", quoted(a.summary), quoted(a.runbook()))
	}
	return b.String()
}

// quoted returns a text as YAML in single quotes, in which only these have a
// meaning.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
