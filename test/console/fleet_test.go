package console

import (
	"fmt"
	"strings"
	"testing"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// The page Fleet of one node shows what the others do, which of them have other rules,
// and a node that is gone.
func TestFleetPage(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	more := fmt.Sprintf("fleet: {redis: \"redis://%s\", namespace: test, push: 100ms, max_nodes: 2}\n", server.Addr)
	a, b := startAs(t, "edge-1", more), startAs(t, "edge-2", more)
	a.Until("the page has the figures of both nodes", func() bool {
		p := a.get("/fleet", false)
		return strings.Contains(p.body, "2 of 2 nodes have the same list") && strings.Count(p.body, "✓ same") == 2
	})
	body := a.get("/fleet", false).body
	for _, want := range []string{"<bdi>edge-2</bdi>", "this node", "said in the last", "not signed by a fleet key", "The last hour</h2>", "requests a minute</span>"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not on the page:\n%s", want, body)
		}
	}
	b.Stop()
	a.Until("the page says that the other is gone", func() bool {
		p := a.get("/fleet", false)
		return strings.Contains(p.body, "not heard for") && strings.Count(p.body, "✓ same") == 1
	})
}
