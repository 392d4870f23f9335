package pipeline

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/shard"
)

// Who was served three pages before a rule of logins blocked him is marked; nobody whom another rule blocked, and nobody
// who read them only afterwards. A reload forgets no page.
func TestMayBeCustomer(t *testing.T) {
	c, err := config.Parse("config", []byte(`
own_hosts: [shop.example]
rules:
  - {name: passwords, threshold: 3, guard: 1, match: {method: POST, path: ["*/signin"]}}
  - {name: scripts, threshold: 3, guard: 1, match: {path: ["/cgi/*"]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	marked, start := map[string]bool{}, time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	p := New(Config{
		Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: start, Crossed: func(edgeguard.Crossing) {},
		Evidence: func(e edgeguard.Evidence) { marked[e.Prefix.Addr().String()] = e.MayBeCustomer },
	}, c)
	defer p.Close()
	of := func(addr, method, path string, n int) (all []edgeguard.Event) {
		for i := range n {
			all = append(all, edgeguard.Event{
				Time: start, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest | edgeguard.KindResponse, Verified: edgeguard.KindRequest | edgeguard.KindResponse,
				Known:  edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldReferer,
				Method: method, Path: fmt.Sprintf(path, i), Status: 200, Referer: "https://shop.example/",
			})
		}
		return all
	}
	const customer, scanner, guesser, late = "203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"
	decide := p.Batches("log")
	for _, addr := range []string{customer, scanner} {
		decide(start, of(addr, "GET", "/page-%d", 3))
	}
	p.Replace(start, c)
	decide(start, of(scanner, "GET", "/cgi/%d", 4))
	for _, addr := range []string{customer, guesser} {
		decide(start, of(addr, "POST", "/%d/signin", 4))
	}
	decide(start, append(of(late, "POST", "/%d/signin", 4), of(late, "GET", "/page-%d", 3)...))
	for addr, want := range map[string]bool{customer: true, scanner: false, guesser: false, late: false} {
		if got, made := marked[addr]; got != want || !made {
			t.Errorf("%s: %v, its block was made: %v", addr, got, made)
		}
	}
}
