package tools

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/loadtest/traffic"
)

// BenchmarkTaught is how long it takes from HAProxy's connection until it has 100,000 blocks in
// its tables, by the peers protocol:
//
//	go test -run '^$' -bench Taught -benchtime 1x ./loadtest/tools
func BenchmarkTaught(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(taught(b, 100_000).Seconds(), "s")
	}
}

func taught(b *testing.B, blocks int) time.Duration {
	a := *allArms[slices.Index(Arms(), "peers")]
	if err := a.missing(); err != nil {
		b.Skip(err)
	}
	a.start = func(ctx context.Context, s *site) error {
		if err := s.startNode(ctx, peersNode()); err != nil {
			return err
		}
		for first := 0; first < blocks; first += admin.MostBulk {
			var r admin.BulkRequest
			for n := first; n < min(first+admin.MostBulk, blocks); n++ {
				r.Blocks = append(r.Blocks, admin.BulkEntry{Prefix: fmt.Sprint(traffic.Request{Client: uint32(n)}.Addr()), For: "1h"})
			}
			if _, err := s.node.Import(ctx, r); err != nil {
				return err
			}
		}
		return s.servePeers(ctx)
	}
	s, err := startSite(b.Context(), &a, rule{costLimit, time.Minute}, edgeguardHere(b), b.TempDir()+"/site")
	defer s.stop()
	if err != nil {
		b.Fatal(err)
	}
	if err := s.until(b.Context(), "has all blocks", func() bool { return s.entries(b) >= blocks }); err != nil {
		b.Fatal(err)
	}
	got := time.Now()
	status, err := s.node.Status(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return got.Sub(status.HAProxies[0].HAProxies[0].Since)
}

// entries returns how many entries HAProxy's tables of blocks have.
func (s *site) entries(b *testing.B) (n int) {
	b.Helper()
	c, err := net.Dial("unix", s.path("stats.sock"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("show table\n")); err != nil {
		b.Fatal(err)
	}
	for lines := bufio.NewScanner(c); lines.Scan(); {
		_, used, found := strings.Cut(lines.Text(), "used:")
		if found && strings.Contains(lines.Text(), "/blocks_") {
			one, _ := strconv.Atoi(used)
			n += one
		}
	}
	return n
}
