package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// What the pages of attacks cost, asked over the admin's socket, and what it costs to lift many blocks, where a million
// stand and 5,000 are of one attack.
func BenchmarkMillionBlocks(b *testing.B) {
	u := newNode(b, b.TempDir(), oneLog+"max_blocks: 2000000\n")
	now := u.clock.Now()
	var all []edgeguard.Block
	add := func(n uint32, first byte, rule string) edgeguard.Block {
		addr := netip.AddrFrom4([4]byte{first, byte(n >> 16), byte(n >> 8), byte(n)})
		return edgeguard.Block{Prefix: netip.PrefixFrom(addr, 32), Rule: rule, Origin: "edge-2", Since: now, Until: now.Add(time.Hour)}
	}
	for i := range uint32(900_000) {
		all = append(all, add(i, 20, edgeguard.ManualRule))
	}
	many := make([]edgeguard.Block, 100_000)
	for i := range many {
		many[i] = add(uint32(i), 24, "search")
	}
	attackers := make([]edgeguard.Block, 5000)
	for i := range uint32(5000) {
		attackers[i] = add(i<<8|i&0xff, 8, "site")
	}
	merge := func(blocks []edgeguard.Block) {
		b.Helper()
		for _, one := range blocks {
			one.Version = u.list.Version(one.Prefix) + 1
			if _, err := u.list.Merge(one, now); err != nil {
				b.Fatal(err)
			}
		}
	}
	merge(all)
	merge(many)
	merge(attackers)
	for i := range attackers {
		u.admin.events.Block(u.admin.status.Now(), u.admin.status.Outward(attackers[i]), nil, false)
	}
	u.start()
	desk := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(u.folder, "admin.sock"))
	}}}
	ask := func(method, path string) string {
		request, err := http.NewRequestWithContext(b.Context(), method, "http://localhost"+path, nil)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := desk.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(answer.StatusCode, string(text), err)
		}
		return string(text)
	}
	u.eventually("the attack is known", func() bool {
		list := u.attacks()
		return len(list) > 0 && list[0].NetworkCount == 5000 && list[0].Blocks == 5000
	})
	attack := "/attacks/" + u.attacks()[0].ID
	for name, path := range map[string]string{"now": "/", "attack": attack} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ask("GET", path)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms")
		})
	}
	for query, blocks := range map[string][]edgeguard.Block{"attack=" + u.attacks()[0].ID: attackers, "rule=search": many} {
		b.Run(fmt.Sprint("lift/", len(blocks)), func(b *testing.B) {
			for b.Loop() {
				said := ask("DELETE", "/api/v1/blocks?"+query)
				b.StopTimer()
				if !strings.Contains(said, fmt.Sprint(`"lifted":`, len(blocks))) {
					b.Fatal(said)
				}
				merge(blocks)
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms")
		})
	}
}
