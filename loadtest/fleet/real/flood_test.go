package real

import (
	"bufio"
	"flag"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edgeguard/admin/client"
	"edgeguard/internal/sleep"
	"edgeguard/loadtest/traffic"
)

var (
	floodNodes   = flag.Int("floodnodes", 3, "nodes of TestFlood")
	floodClients = flag.Int("floodclients", 100, "clients of TestFlood that cross together")
	floodHeld    = flag.Bool("floodheld", false, "TestFlood's nodes hold what would refuse over a fifth of their requests, and nobody else sends any")
)

// TestFlood has clients cross together that no node alone sees above the limit: each node
// must refuse every one of them. It tells after how long all do, and what that cost Redis.
func TestFlood(t *testing.T) {
	nodes, clients := *floodNodes, *floodClients
	ctx := t.Context() // go test ends what never comes: how long the rest takes is the machine's
	folder, err := os.MkdirTemp("", "flood")
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{
		scenario: traffic.Scenario{Limit: uint32(max(40, nodes+10)), Window: 5 * time.Minute, Nodes: nodes},
		held:     *floodHeld, program: built(t), folder: folder,
	}
	defer f.stop()
	if err := f.start(ctx); err != nil {
		t.Fatal(err)
	}
	limit := int(float64(f.scenario.Limit) * guard)
	each := limit / nodes
	if err := f.each(func(_ int, n *node) error { return n.flooded(clients, each) }); err != nil {
		t.Fatal(err)
	}
	sleep.For(ctx, 3*time.Second) // two pushes: the total is what stands below the limit
	before, err := f.read(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range limit + 5 - each*nodes { // some more than the limit, for all to see
		if err := f.nodes[i%nodes].flooded(clients, 1); err != nil {
			t.Fatal(err)
		}
	}
	crossed := time.Now()
	for i, n := range f.nodes { // not by its events: it does not show each of so many in a second
		for {
			blocked, _, err := n.api.CountBlocks(ctx, client.Filter{})
			if err != nil {
				t.Fatalf("node %d: %d of %d clients are blocked: %v", i, blocked, clients, err)
			}
			if blocked == clients {
				break
			}
			sleep.For(ctx, 50*time.Millisecond)
		}
	}
	took := time.Since(crossed)
	after, err := f.read(ctx, before.kinds)
	if err != nil {
		t.Fatal(err)
	}
	kinds := after.kinds
	per := func(n uint64) float64 { return float64(n) / float64(clients) }
	splits, entries := per(kinds["split"].Keys), per(after.entries-before.entries)
	t.Logf("%d nodes, %d clients, held %v: blocked on all after %.1f s; a client: %.1f splits, %.1f entries of streams, %.1f keys pushed; Redis %.1f s of processor",
		nodes, clients, *floodHeld, took.Seconds(), splits, entries, per(kinds["push"].Keys),
		(after.redis - before.redis).Seconds())
	if splits == 0 || entries == 0 {
		t.Errorf("nothing was measured: %+v", kinds)
	}
}

// flooded sends the node so many requests of each client.
func (n *node) flooded(clients, each int) error {
	s := newSender(n.folder, nil)
	conn, err := net.Dial("unix", filepath.Join(n.folder, "auth"))
	if err != nil {
		return err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for range each {
		for first := 0; first < clients; first += mostTogether {
			var text []byte
			last := min(first+mostTogether, clients)
			for c := first; c < last; c++ {
				text = appendQuestion(text, traffic.Request{Client: uint32(c), Cost: 1})
			}
			if err := s.ask(conn, answers, text, last-first); err != nil {
				return err
			}
		}
	}
	return nil
}
