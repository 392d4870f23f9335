package metrics

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

//go:generate go test -count=1 -run ^TestMetrics(Golden|OfTheDocs)$ ../server -update

// table is every metric of a node, except what a histogram or a counter of this
// package holds itself. docs/api.md's list of metrics is made of what it sends.
var table = slices.Concat(nodeParts, blockParts, sensorParts, receiverParts, fleetParts)

// part is the metrics of one part of a node.
type part struct {
	descs []*prometheus.Desc
	send  func(*scrape, chan<- prometheus.Metric)
}

// row is one metric, made of a T.
type row[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	emit func(T, series)
}

// each returns the part of the node that of finds: each row is sent for each T. A
// part that a node does not have sends nothing.
func each[T any](of func(*scrape) []T, rows ...row[T]) part {
	p := part{send: func(s *scrape, to chan<- prometheus.Metric) {
		for _, one := range of(s) {
			for _, r := range rows {
				r.emit(one, series{r.desc, r.kind, to})
			}
		}
	}}
	for _, r := range rows {
		p.descs = append(p.descs, r.desc)
	}
	return p
}

// some returns a part of the figures, if it is there.
func some[T any](part *T) []*T {
	if part == nil {
		return nil
	}
	return []*T{part}
}

// counter returns the row of a figure that only grows. Names follow the conventions of
// Prometheus: base units, the unit last, _total for counters. A space separates labels.
func counter[T any](name, help, labels string, emit func(T, series)) row[T] {
	return row[T]{describe(name, help, labels), prometheus.CounterValue, emit}
}

// gauge returns the row of a figure that also falls.
func gauge[T any](name, help, labels string, emit func(T, series)) row[T] {
	return row[T]{describe(name, help, labels), prometheus.GaugeValue, emit}
}

func describe(name, help, labels string) *prometheus.Desc {
	return prometheus.NewDesc("edgeguard_"+name, help, strings.Fields(labels), nil)
}

// series is where a row sends its values, one for each combination of labels.
type series struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	to   chan<- prometheus.Metric
}

type number interface {
	int | int64 | uint32 | uint64 | float64
}

func add[N number](to series, n N, labels ...string) {
	to.to <- prometheus.MustNewConstMetric(to.desc, to.kind, float64(n), labels...)
}

func addIf[N number](known bool, to series, n N, labels ...string) {
	if known {
		add(to, n, labels...)
	}
}

// addEach sends a figure by its only label.
func addEach[N number](to series, figures map[string]N) {
	for label, n := range figures {
		add(to, n, label)
	}
}

// begun returns counters with zeros for those that have not counted yet: the increase of one that begins with its
// first event lacks that one.
func begun[K comparable](counted map[K]uint64, can ...K) map[K]uint64 {
	all := make(map[K]uint64, len(counted)+len(can))
	for _, one := range can {
		all[one] = 0
	}
	maps.Copy(all, counted)
	return all
}

// by is a figure by its last label.
type by []struct {
	label string
	n     uint64
}

// addBy sends a figure by its last label, after the others.
func addBy(to series, figures by, labels ...string) {
	labels = append(append(make([]string, 0, 4), labels...), "") // on the stack
	for _, f := range figures {
		labels[len(labels)-1] = f.label
		add(to, f.n, labels...)
	}
}

// at sends an instant, unless it is zero.
func at(to series, t time.Time, labels ...string) {
	addIf(!t.IsZero(), to, float64(t.UnixMilli())/1e3, labels...)
}

func is(to series, yes bool) {
	n := 0
	if yes {
		n = 1
	}
	add(to, n)
}
