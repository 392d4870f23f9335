package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// Fault 3, on the real program: what the request path does with Redis up, dead,
// hung, and two seconds slow. No request fails, refused clients stay refused,
// the node's own limits apply, and the log is not flooded.
func TestRequestPath(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(background, server.Client()); err != nil {
		t.Fatal(err)
	}
	one, two := startProcess(t, "edge-1", server), startProcess(t, "edge-2", server)
	for _, p := range []*process{one, two} {
		program.Eventually(t, "a node to be joined", func() bool { return !p.degraded() })
	}
	refusedByBoth(t, one, two)

	faults := []struct {
		name       string
		begin, end func()
	}{
		{"up", func() {}, func() {}},
		{"dead", server.Kill, func() {
			server.Restart()
			if _, err := redis.Install(background, server.Client()); err != nil {
				t.Fatal(err)
			}
		}},
		{"hung", server.Stop, server.Cont},
		{"2 s slow", func() {
			one.proxy.Set(redistest.Fault{Delay: 2 * time.Second})
			two.proxy.Set(redistest.Fault{Delay: 2 * time.Second})
		}, func() { one.proxy.Heal(); two.proxy.Heal() }},
	}
	var p99 []string
	begun := time.Now()
	for i, fault := range faults {
		fault.begin()
		if i > 0 {
			for _, p := range []*process{one, two} {
				program.Eventually(t, "a node to say that it is degraded", p.degraded)
			}
		}
		took := askFor(t, one, i, time.Duration(size(1500, 60_000))*time.Millisecond)
		p99 = append(p99, fmt.Sprintf("%s: p50 %v, p99 %v of %d", fault.name, quantile(took, 0.5).Round(time.Microsecond), quantile(took, 0.99).Round(time.Microsecond), len(took)))
		fault.end()
		for _, p := range []*process{one, two} {
			program.Eventually(t, "a node to be joined again", func() bool { return !p.degraded() })
		}
	}
	t.Log(strings.Join(p99, "; "))
	for _, p := range []*process{one, two} {
		minutes := 1 + int(time.Since(begun)/time.Minute)
		if lines := strings.Count(p.Said(), "fleet: "); lines > 2*minutes {
			t.Errorf("%d lines about the fleet in the log", lines)
		}
	}
}

// refusedByBoth spreads a client's requests over two nodes, neither of which
// sees its limit passed, and waits until both refuse it.
func refusedByBoth(t *testing.T, nodes ...*process) {
	t.Helper()
	for range 21 {
		for _, p := range nodes {
			ask(t, p, standing)
		}
	}
	for _, p := range nodes {
		program.Eventually(t, "the spread-out client to be refused", func() bool { return ask(t, p, standing) })
	}
}

// standing is refused everywhere from the beginning.
const standing = "198.51.100.1"

func ask(t *testing.T, p *process, client string) (refused bool) {
	t.Helper()
	a, err := p.asker()
	if err != nil {
		t.Fatal(err)
	}
	defer a.conn.Close()
	refused, err = a.refused(client)
	if err != nil {
		t.Fatal(err)
	}
	return refused
}

// askFor asks a node for a while about many clients, one of them blocked, and
// about one that goes over its limit during that time. It returns how long each
// answer took, sorted.
func askFor(t *testing.T, p *process, round int, span time.Duration) []time.Duration {
	t.Helper()
	a, err := p.asker()
	if err != nil {
		t.Fatal(err)
	}
	defer a.conn.Close()
	greedy := fmt.Sprintf("198.51.100.%d", 10+round)
	for i, begun := 0, time.Now(); time.Since(begun) < span; i++ {
		client, want := fmt.Sprintf("198.18.%d.%d", 10+round, i%250), false
		switch i % 20 {
		case 0:
			client, want = standing, true
		case 1:
			client, want = greedy, i/20 >= 40
		}
		if i >= 250*40 && i%20 > 1 {
			client = fmt.Sprintf("198.19.%d.%d", i/250%250, i%250)
		}
		refused, err := a.refused(client)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if refused != want {
			t.Fatalf("request %d: %s is refused: %v", i, client, refused)
		}
		if i%8 == 7 {
			time.Sleep(time.Millisecond)
		}
	}
	slices.Sort(a.took)
	return a.took
}
