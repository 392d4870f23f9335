// Package metrics renders a node's figures for Prometheus. Names and labels are
// in docs/api.md.
package metrics

import (
	"net/http"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"edgeguard/admin"
	"edgeguard/admin/access"
)

// maxScrapes is how many scrapes are answered in parallel; each walks the blocks.
const maxScrapes = 2

// Handler answers /metrics of one admin listener. It is safe for concurrent use.
// Make one with [New].
type Handler struct {
	http.Handler
	refusals *prometheus.CounterVec
}

// New returns the metrics of three kinds: the node's (edgeguard_*), the process's
// and Go's. No label ever holds an address, a path or anything else that a
// client chooses. A nil latency leaves out that one.
func New(reader admin.Reader, events *admin.Events, latency *Latency) *Handler {
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "edgeguard_admin_refusals_total",
		Help: "Requests to the admin API that were refused.",
	}, []string{"reason"})
	for _, reason := range access.Reasons {
		refusals.WithLabelValues(reason)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		refusals,
		collector{reader, events},
	)
	if latency != nil {
		registry.MustRegister(latency.vec)
	}
	return &Handler{promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}), refusals}
}

// Refused counts a request that the listener's policy refused, by the reason.
func (h *Handler) Refused(reason string) { h.refusals.WithLabelValues(reason).Inc() }

// collector makes metrics of the node's figures whenever it is asked. Nothing
// is counted twice, in the node and in a metric, and nothing on the path of a
// request knows of metrics.
type collector struct {
	reader admin.Reader
	events *admin.Events
}

// Describe names all metrics; it is part of prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, p := range table {
		for _, d := range p.descs {
			to <- d
		}
	}
}

// Collect sends their present values; it is part of prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	rules := c.reader.Rules()
	s := scrape{c.reader.Stats(), rules[:min(len(rules), admin.MaxLabels)], c.standing(), c.events.Counted()}
	for _, p := range table {
		p.send(&s, to)
	}
}

// scrape is the figures at one instant.
type scrape struct {
	admin.Stats
	rules    []admin.Rule // the first of the config: a file may hold any number
	standing map[standingBy]int
	happened admin.Happened
}

// blocking is the action of the blocks.
func (s *scrape) blocking() string {
	if s.Monitor {
		return "shadow"
	}
	return "block"
}

// standing counts the blocks by rule, origin and family. It walks the list: a
// hundred thousand blocks take a few milliseconds, once a scrape, and no change
// of the list has to keep counters in step for it.
func (c collector) standing() map[standingBy]int {
	known := make(map[string]bool)
	count := make(map[standingBy]int)
	for b := range c.reader.Blocks(c.reader.Now(), netip.Prefix{}) {
		rule := b.Rule
		if !known[rule] {
			if len(known) >= admin.MaxLabels {
				rule = admin.OtherLabel
			} else {
				known[rule] = true
			}
		}
		kind := standingBy{admin.MadeBy{Rule: rule, Origin: c.events.Origin(b)}, "ipv6"}
		if b.Prefix.Addr().Is4() {
			kind.family = "ipv4"
		}
		count[kind]++
	}
	return count
}
