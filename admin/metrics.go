package admin

import (
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is how many scrapes are answered in parallel; each walks the blocks.
const maxScrapes = 2

// otherLabel stands for the values of a label that are too many to count
// apart.
const otherLabel = "other"

// newMetrics returns the handler of /metrics. Its names are of three kinds: the
// node's (edgeguard_*), the process's and Go's. No label ever holds an
// address, a path or anything else that a client chooses.
func (s *Server) newMetrics() http.Handler {
	s.refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "edgeguard_admin_refusals_total",
		Help: "Requests to the admin API that were refused.",
	}, []string{"reason"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		s.refusals,
		collector{s.config.Reader, s.config.Events},
	)
	if s.config.Latency != nil {
		registry.MustRegister(s.config.Latency.vec)
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

// collector makes metrics of the node's figures whenever it is asked. Nothing
// is counted twice, in the node and in a metric, and nothing on the path of a
// request knows of metrics.
type collector struct {
	reader Reader
	events *Events
}

// Describe names all metrics; it is part of prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range descriptions {
		to <- d
	}
}

// Collect sends their present values; it is part of prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	stats := c.reader.Stats()
	out := sink{to}
	out.node(&stats, c.reader.Rules())
	out.tables(&stats.Tables)
	out.sensors(&stats)
	out.enforcers(stats.Enforcers)
	out.state(&stats)
	out.fleet(stats.Fleet)
	action := "block"
	if stats.Monitor {
		action = "shadow"
	}
	out.standing(c.standing(), action)
	out.happened(c.events.counted(), action)
}

// standingBy is what active blocks are counted by.
type standingBy struct {
	madeBy
	family string
}

// standing counts the blocks by rule, origin and family. It walks the list: a
// hundred thousand blocks take a few milliseconds, once a scrape, and no change
// of the list has to keep counters in step for it.
func (c collector) standing() map[standingBy]int {
	known := make(map[string]bool)
	count := make(map[standingBy]int)
	for b := range c.reader.Blocks(c.reader.Now(), zeroPrefix) {
		rule := b.Rule
		if !known[rule] {
			if len(known) >= maxLabels {
				rule = otherLabel
			} else {
				known[rule] = true
			}
		}
		by := standingBy{madeBy{rule, c.events.origin(b)}, "ipv6"}
		if b.Prefix.Addr().Is4() {
			by.family = "ipv4"
		}
		count[by]++
	}
	return count
}

// revision is the commit that the program was built of, if Go knows it.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

// goVersion is what the program was built with.
func goVersion() string { return runtime.Version() }
