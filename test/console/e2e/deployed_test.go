package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/internal/redistest"
)

const (
	// longest is an address of full length, blocked by hand; nearest is another one that
	// is near two limits, and never is a network of full length that is allowed.
	longest = "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"
	nearest = "2001:db8:dddd:dddd:dddd:dddd:dddd:dddd"
	never   = "2001:db8:eeee:eeee:eeee:eeee:eeee:ee00/120"
	// longRule is a name as long as one may be, longNote a reason of 80 characters.
	longRule = "what-the-shop's-search-answers-to-one-address-in-five-minutes-01"
	longNote = "the abuse desk of the provider has been told, see ticket 4711 of 3 March at noon"
)

// deployed is behind three enforcers with long names, and blocks 10,000.
func deployed(t *testing.T) *world {
	n := prepare(t, "edge-fra-1.shop.example.net", fmt.Sprintf(`
rules:
  - {name: site, threshold: 200, candidates: [100, 150]}
  - {name: %q, threshold: 200}
enforce:
  files:
    - {file: $DIR/sites-of-the-shop-and-its-search/edgeguard-geo.conf, format: nginx-geo}
    - {file: $DIR/sites-of-the-shop-and-its-search/edgeguard-block-map-of-all-frontends.map, format: haproxy-map}
    - {file: $DIR/packet-filters-of-the-host-itself/edgeguard-ipset-of-all-interfaces.restore, format: ipset, name: edgeguard_all_interfaces}
`, longRule))
	for _, folder := range []string{"sites-of-the-shop-and-its-search", "packet-filters-of-the-host-itself"} {
		if err := os.Mkdir(n.Path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.launch()
	const blocks = 10_000
	for from := 0; from < blocks-2; {
		var entries []admin.BulkEntry
		for ; len(entries) < 500 && from < blocks-2; from++ {
			prefix := fmt.Sprintf("2001:db8:ffff:%x:ffff:ffff:ffff:%x", 0xf000+from%1000, 0xf000+from/4)
			if from%2 == 0 {
				prefix = fmt.Sprintf("198.%d.%d.%d/31", 100+from/16384, from/64%256, from%64*2+128)
			}
			entries = append(entries, admin.BulkEntry{Prefix: prefix, For: "2h", Reason: longNote})
		}
		if done, err := n.admin.Import(t.Context(), admin.BulkRequest{Blocks: entries}); err != nil || done.Added != len(entries) {
			t.Fatalf("%v: %+v", err, done)
		}
	}
	n.block(longest, longNote)
	n.ask("2001:db8:cccc:cccc:cccc:cccc:cccc:cccc", "/search?q=1", limit+5)
	n.ask(nearest, "/", limit*9/10)
	n.ask(nearby, "/", limit*9/10)
	n.allow(never, longNote)
	n.Until("all are in all lists", func() bool {
		s := n.status()
		for _, e := range s.Enforcers {
			if e.Installed+e.Withheld < blocks {
				return false
			}
		}
		return len(s.Enforcers) == 3 && s.V4+s.V6 == blocks
	})
	return &world{name: "deployed", node: n, pages: []string{"/blocked", "/blocked?order=prefix", "/blocked?order=count", "/blocked/near", "/rules", "/rules/" + longRule, "/allowed", "/changes", "/changes?kind=all", "/help", "/neighbours", "/health",
		"/address/" + longest, "/address/" + nearest, "/network/2001:db8:ffff:f000::/64", "/block?prefix=" + longest, "/unblock?prefix=" + longest, "/unblock?prefix=" + longest + "&prefix=198.100.0.128%2F31"}}
}

// thirty is a fleet of as many nodes, with long names.
func thirty(t *testing.T) *world {
	server := redistest.Start(t, redistest.Options{})
	install(t, server.Addr)
	var nodes []*node
	for i := range 30 {
		name := fmt.Sprintf("edge-%02d.a-place-with-a-long-name.shop.example.net", i)
		n := prepare(t, name, fmt.Sprintf("memory: 16MiB\nfleet: {redis: \"redis://%s\", namespace: e2e, max_nodes: 30}\n%s", server.Addr, rules))
		n.Launch()
		nodes = append(nodes, n)
	}
	one := nodes[0]
	one.Until("the nodes know each other", func() bool {
		f := one.status().Fleet
		return f != nil && f.Up && f.Alive == len(nodes)
	})
	nodes[29].block(longest, longNote)
	nodes[29].ask(sixth, "/x", limit+5)
	nodes[29].block("11.0.0.0/8", longNote)
	one.blocked(longest, sixth)
	one.Until("the wide block waits, and what is in force is added up", func() bool { return one.status().Fleet.Held > 0 && len(one.status().Elsewhere) > 0 })
	one.Until("all have reported their figures", func() bool { return !strings.Contains(one.get("/fleet"), "not reported figures") })
	return &world{name: "thirty", node: one, other: nodes[29], pages: []string{"/fleet", "/blocked", "/blocked/held", "/address/" + sixth, "/rules/site/threshold?threshold=100"}}
}

// Pages hold together with what a usual deployment brings to them: see the two worlds.
func TestDeployed(t *testing.T) {
	for name, made := range map[string]func(*testing.T) *world{"deployed": deployed, "thirty": thirty} {
		t.Run(name, func(t *testing.T) {
			w := made(t)
			layout(t, w)
			hold(t, w, w.pages, []look{{width: 320, scheme: "light"}, {width: 768, scheme: "dark"}, {width: 1024, scheme: "light"}, {width: 1440, scheme: "light", text: 32}, {width: 640, scheme: "dark", text: 32}})
		})
	}
}
