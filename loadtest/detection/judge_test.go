package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestDenied: if a network is over a rule's limit, an address in it is denied when one of its
// requests was refused, and not when it only reads. A blocked address is not denied as well.
func TestDenied(t *testing.T) {
	r, err := parse("x", []byte(`rules:
  - {name: network, match: {path: /login}, key: {address: {v4: 24, v6: 48}}, threshold: 3, guard: 1, action: deny}
  - {name: own, match: {path: /login}, threshold: 4, guard: 1}
  - {name: look, match: {path: /read}, threshold: 1, guard: 1, action: shadow}
`))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	second := 0
	line := func(addr, path string) {
		second++
		at := time.Date(2026, 3, 2, 8, 0, second, 0, time.UTC).Format("02/Jan/2006:15:04:05 -0700")
		fmt.Fprintf(&log, "%s - - [%s] \"POST %s HTTP/1.1\" 200 5 \"-\" \"x\"\n", addr, at, path)
	}
	for _, addr := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.4", "192.0.2.4", "192.0.2.4", "192.0.2.4", "192.0.2.4"} {
		line(addr, "/login")
	}
	for range 3 {
		line("192.0.2.3", "/read")
	}
	events, err := parseScene([]byte(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	o, err := judge(context.Background(), r, &memory{events})
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string][effects]int{
		"192.0.2.1": {}, "192.0.2.2": {denied: 1}, "192.0.2.3": {told: 1}, "192.0.2.4": {blocked: 1, denied: 1},
	} {
		var got [effects]int
		for e, rules := range o.visitors[netip.MustParseAddr(addr)].by {
			got[e] = len(rules)
		}
		if got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
	g := group{rules: make(map[string]effect)}
	for _, v := range o.visitors {
		g.count(v)
	}
	if want := [effects]int{blocked: 1, denied: 1, told: 1}; g.by != want || g.addresses != 4 || g.requests-g.letIn != 6 {
		t.Errorf("all: %v of %d, %d of %d let in", g.by, g.addresses, g.letIn, g.requests)
	}
}

func TestWindow(t *testing.T) {
	for d, want := range map[time.Duration]string{10 * time.Minute: "10m", time.Hour: "1h", 24 * time.Hour: "24h", 90 * time.Second: "1m30s", 20 * time.Second: "20s", 70 * time.Minute: "1h10m"} {
		if got := window(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
