package fleet

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// TestNodeKilled kills a node again and again, each time after all that it counted had
// reached Redis. Nothing of that is lost or counted twice, also of the slot in which it
// starts again, which here has 24 minutes: neither what was restored of it nor what the log
// says once more is told again, and what comes after the start is told at once.
func TestNodeKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(background, server.Client()); err != nil {
		t.Fatal(err)
	}
	p := program.NewNode(t, fmt.Sprintf(`
node: edge-1
state: $DIR/state
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{file: $DIR/access.log, format: combined}]}
rules:
  - {name: site, threshold: 60000, guard: 1, window: 24h}
fleet: {redis: "redis://%s", namespace: test, quiet: false, push: 50ms}
`, server.Addr))
	write(t, p.Path("access.log"), "")
	node, err := client.New(client.Config{Address: "unix:" + p.Path("admin.sock")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	const asks, logs = "198.51.100.1", "198.51.100.2" // who asks by auth, and who is in the log
	total := func(addr string) (count uint32) {
		x, err := node.Explain(background, netip.MustParseAddr(addr))
		if err == nil && len(x.Rules) == 1 && x.Rules[0].Fleet != nil {
			count = uint32(x.Rules[0].Fleet.Count)
		}
		return count
	}
	sent := map[string]uint32{}
	for round := range size(4, 20) {
		p.Launch()
		p.Until("it has joined", func() bool {
			s, err := node.Status(background)
			return err == nil && s.Fleet != nil && s.Fleet.Up && s.Fleet.Rounds > 0
		})
		a, err := (&process{Process: p}).asker()
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			if refused, err := a.refused(asks); refused || err != nil {
				t.Fatal(refused, err)
			}
		}
		a.conn.Close()
		f, err := os.OpenFile(p.Path("access.log"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s - - [%s] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n", logs, time.Now().Format("02/Jan/2006:15:04:05 -0700"))
		if _, err := f.WriteString(strings.Repeat(line, 20)); err != nil {
			t.Fatal(err)
		}
		f.Close()
		sent[asks] += 30
		sent[logs] += 20
		for addr, want := range sent {
			p.Until(fmt.Sprintf("the fleet has %d of %s", want, addr), func() bool { return total(addr) >= want })
			if got := total(addr); got != want {
				t.Fatalf("round %d: the fleet counts %d of %s, which sent %d", round, got, addr, want)
			}
		}
		if round%2 == 1 { // a block has the state saved: the next start has the counts from there
			before := saved(t, node)
			if _, err := node.Block(background, admin.BlockRequest{Prefix: fmt.Sprintf("203.0.113.%d", round), Reason: "test"}); err != nil {
				t.Fatal(err)
			}
			p.Until("the state is saved", func() bool { return saved(t, node) > before })
		}
		p.Kill()
		if round%3 == 0 { // the log is rotated while the node is down, and the next start ends before it has joined
			if err := os.Rename(p.Path("access.log"), p.Path("access.log.1")); err != nil {
				t.Fatal(err)
			}
			write(t, p.Path("access.log"), "")
			p.Launch()
			time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // wherever it is by then
			p.Kill()
		}
	}
}

// saved is how often a node has saved its state.
func saved(t *testing.T, node *client.Client) uint64 {
	t.Helper()
	s, err := node.Status(background)
	if err != nil {
		t.Fatal(err)
	}
	return s.Snapshot.Written
}
