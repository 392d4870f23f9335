package logline

import (
	"strings"

	"edgeguard"
	"edgeguard/logline/formats"
	"edgeguard/logline/pattern"
)

// Default is the name of the format that a log has if nobody says another.
const Default = "combined"

// target is what a request line with its status supplies.
const target = edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus

// knownFormats are those with a name, in the order in which auto tries them: of two
// that read as many lines, the first is taken. Whoever lists formats lists these.
var knownFormats = []*Format{
	{name: "json", start: formats.NewJSON,
		reads: "one JSON object a line, by the names that Caddy, Traefik, Envoy, AWS WAF, Cloudflare's Logpush and the usual nginx formats give their fields"},
	{name: Default, start: pattern.Combined().Parser, fields: target | edgeguard.FieldAgent | edgeguard.FieldReferer,
		reads: "nginx's `combined` and Apache's, and whatever else writes it"},
	{name: "haproxy", start: formats.NewHAProxy, fields: edgeguard.FieldHost | target | edgeguard.FieldAgent | edgeguard.FieldReferer,
		reads: "HAProxy's `httplog` and `httpslog`, and with host, referer and agent the `log-format` of `edgeguard snippets haproxy-peers`"},
	{name: "vhost_combined", start: pattern.VhostCombined().Parser,
		fields: edgeguard.FieldHost | edgeguard.FieldPort | target | edgeguard.FieldAgent | edgeguard.FieldReferer,
		reads:  "Apache's `vhost_combined`: the host and its port, and behind them `combined`"},
	{name: "common", start: pattern.Common().Parser, fields: target,
		reads: "Apache's `common`: `combined` without page and agent"},
	{name: "alb", start: formats.NewALB, fields: edgeguard.FieldHost | target | edgeguard.FieldAgent,
		reads: "AWS Application Load Balancers, Classic ones. Those of Network Load Balancers hold connections and no requests: they are not read"},
	{name: "squid", start: formats.NewSquid, fields: edgeguard.FieldHost | target,
		reads: "Squid's native `access.log`"},
	{name: "w3c", start: formats.NewW3C,
		reads: "W3C's extended format: CloudFront's standard logs, IIS"},
	{name: "npm", start: pattern.ProxyManager().Parser, fields: edgeguard.FieldHost | target | edgeguard.FieldAgent | edgeguard.FieldReferer,
		reads: "Nginx Proxy Manager: its `proxy` and `standard`"},
	{name: "envoy", start: formats.NewEnvoy, fields: edgeguard.FieldHost | target | edgeguard.FieldAgent, caution: formats.EnvoyCaution,
		reads: "Envoy's default text format"},
}

// named returns the format of that name, nil if there is none.
func named(name string) *Format {
	for _, f := range knownFormats {
		if f.name == name {
			return f
		}
	}
	return nil
}

// Names returns the names of formats, the default first.
func Names() []string {
	all := []string{Default}
	for _, f := range knownFormats {
		if f.name != Default {
			all = append(all, f.name)
		}
	}
	return all
}

// formatHint says how a format can be written.
func formatHint() string {
	return "auto, " + strings.Join(Names(), ", ") + ", an nginx log_format, HAProxy log-format or Apache LogFormat string, " +
		"the name of a service such as sshd, csv:time=COLUMN,addr=COLUMN, json:time=PATH,addr=PATH, regex:EXPRESSION with a group addr, or docker:, journald:, vector: or fluentbit: and one of these"
}

// wrapped are the named formats in envelopes of each form, in the order in which
// auto tries them.
func wrapped() (all []*Format) {
	for _, form := range formats.Envelopes {
		for _, f := range knownFormats {
			all = append(all, &Format{name: form.Name + ":" + f.name, start: form.Wrap(f.start), wraps: true, fields: f.fields, caution: f.caution})
		}
	}
	return all
}
