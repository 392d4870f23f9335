package server_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"edgeguard/admin/metrics"
	"edgeguard/admin/server"
)

// One page out of the middle of a long list, and one scrape of it.
func BenchmarkLongList(b *testing.B) {
	for _, many := range []uint32{100_000, 1_000_000} {
		n := newNode()
		for i := range many {
			n.mustBlock(b, numbered(i).String(), "site", "n1")
		}
		s := serve(b, n, server.Config{})
		for name, path := range map[string]string{
			"page":   fmt.Sprintf("/api/v1/blocks?limit=1000&cursor=%s", numbered(many/2)),
			"one":    fmt.Sprintf("/api/v1/blocks?contains=%s", numbered(many/2).Addr()),
			"scrape": "/metrics",
		} {
			b.Run(fmt.Sprintf("%s/%d", name, many), func(b *testing.B) {
				for b.Loop() {
					s.ask(b, request{method: "GET", path: path, unix: true})
				}
			})
		}
	}
}

// One scrape of a node of which every figure is set.
func BenchmarkScrape(b *testing.B) {
	_, c := full(b)
	request := httptest.NewRequest("GET", "/metrics", nil)
	b.ReportAllocs()
	for b.Loop() {
		c.Metrics.ServeHTTP(httptest.NewRecorder(), request)
	}
}

// What a source pays for each duration it hands in.
func BenchmarkLatency(b *testing.B) {
	took := metrics.NewLatency().Of("nginx")
	b.ReportAllocs()
	for b.Loop() {
		took(30 * time.Microsecond)
	}
}

// What a block costs those who make it while nobody listens.
func BenchmarkPublish(b *testing.B) {
	n := newNode()
	b.ReportAllocs()
	for b.Loop() {
		n.block(1)
	}
}
