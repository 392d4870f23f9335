package main

import (
	"fmt"
	"net/url"
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

// runbooks is the page that says what to do about an alert. Each alert has a heading
// there. As it is, the path is one of this repository, and no link: where the page is to
// be read only who installs the rules knows.
const runbooks = "docs/operations.md"

// checkPage returns what is wrong with an address of the page: a link in a chat or a mail
// needs a whole one.
func checkPage(address string) error {
	u, err := url.Parse(address)
	if address == runbooks || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.Fragment == "" {
		return nil
	}
	return fmt.Errorf("invalid address %q: use a whole one without #, such as https://git.example.net/edgeguard/docs/operations.md", address)
}

// runbook returns where an alert is explained on a page.
func (a *alert) runbook(page string) string { return page + "#" + strings.ToLower(a.name) }

// rulesFile returns the rules as Prometheus reads them, with links to a page of runbooks. It is written here and
// not by a YAML module, because the few forms that it has are all that is
// needed, and an operator is to read the file.
func rulesFile(page string) string {
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
		fmt.Fprintf(&b, "    annotations:\n      summary: %s\n      runbook_url: %s\n", quoted(a.summary), quoted(a.runbook(page)))
	}
	return b.String()
}

// quoted returns a text as YAML in single quotes, in which only these have a
// meaning.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
