package node

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
	"edgeguard/snapshot"
)

// oneOfThree is a node of a fleet whose limit no node reaches alone.
const oneOfThree = `
node: $NAME
state: $DIR/state
listen: {admin: ["unix:$DIR/admin.sock"], auth: ["unix:$DIR/auth.sock"]}
fleet: {redis: "redis://$REDIS", namespace: test, push: 50ms, max_nodes: 3}
rules:
  - {name: site, threshold: 1900, guard: 1, window: 5m}
`

// startThree runs three nodes on one Redis.
func startThree(t *testing.T, server *redistest.Server) (all []*underTest) {
	t.Helper()
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		yaml := strings.NewReplacer("$NAME", fmt.Sprint("edge-", i), "$REDIS", server.Addr).Replace(oneOfThree)
		all = append(all, newNode(t, shortDir(t), yaml).start())
	}
	for _, u := range all {
		u.eventually("it is joined", func() bool { f := u.fleet(); return f.Up && f.Rounds > 0 && f.Alive == 3 })
		u.eventually("its first slot is over", func() bool { return u.clock.Now().Unix() > u.lifecycle.begun.Unix()+5 })
	}
	return all
}

func (u *underTest) requests(addr string, n int) {
	for range n {
		u.request(addr)
	}
}

// restart ends a node cleanly and starts it again.
func (u *underTest) restart() *underTest {
	u.t.Helper()
	u.stop()
	next := newNode(u.t, u.folder, u.yaml).start()
	next.eventually("it is joined again", func() bool { f := next.fleet(); return f.Up && f.Rounds > 0 })
	return next
}

// joined waits until a round of pushes was answered.
func (u *underTest) joined() {
	u.t.Helper()
	u.eventually("it is joined", func() bool { f := u.fleet(); return f.Up && f.Rounds > 0 && f.Joins > 0 })
}

var keptLine = regexp.MustCompile(`msg="joining the fleet".* boot=([0-9a-f]{16}) boot_kept=(true|false)`)

// kept returns the boot with which a node joined, and whether it is that of the
// process before.
func (u *underTest) kept() (boot string, kept bool) {
	u.t.Helper()
	found := keptLine.FindStringSubmatch(u.log.String())
	if found == nil {
		u.t.Fatalf("no line says which boot the node has:\n%s", u.log)
	}
	return found[1], found[2] == "true"
}

// All nodes restart cleanly, Redis is emptied, and the rest of a client's
// requests brings it over the limit: what was counted before the restart and
// what was told of it is lost on no node.
func TestRestartsThenEmptiedRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	all := startThree(t, server)
	const addr = "203.0.113.9"
	for _, u := range all {
		u.requests(addr, 600)
	}
	pass(4, all...)
	for i, u := range all {
		before, _ := u.kept()
		all[i] = u.restart()
		if boot, kept := all[i].kept(); !kept || boot != before {
			t.Errorf("node %d has boot %s after %s, kept: %v", i, boot, before, kept)
		}
	}
	if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for _, u := range all {
		u.requests(addr, 40)
	}
	for i, u := range all {
		u.eventually(fmt.Sprint("node ", i, " blocks it"), func() bool { return u.blocked(addr) })
	}
	// The block counts what had been pushed when it was made.
	all[0].eventually("all is in the fleet's count", func() bool {
		x, err := all[0].desk().Explain(t.Context(), netip.MustParseAddr(addr))
		if err != nil {
			t.Fatal(err)
		}
		return x.Rules[0].Fleet != nil && x.Rules[0].Fleet.Count == 1920
	})
}

// A node that did not end cleanly, whose state is not its last, or that starts
// in a copy of the folder, has a new boot.
func TestNewBoots(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	yaml := strings.NewReplacer("$NAME", "edge-0", "$REDIS", server.Addr).Replace(oneOfThree)
	u := newNode(t, shortDir(t), yaml).start()
	marker, state := filepath.Join(u.folder, "state", "fleet.boot"), filepath.Join(u.folder, "state", "node.state")
	if _, err := os.Stat(marker); err == nil {
		t.Error("a running node has a marker: after a kill its boot would be kept")
	}
	u.requests("203.0.113.9", 5)
	first, kept := u.kept()
	if kept {
		t.Error("the first boot is kept")
	}
	u.joined() // a node that has pushed nothing keeps no boot
	u = u.restart()
	if boot, kept := u.kept(); !kept || boot != first {
		t.Errorf("after a clean restart: %s, kept %v", boot, kept)
	}
	for range 2 { // a reload that changes the link, and one that does not
		u.yaml = strings.Replace(u.yaml, "push: 50ms", "push: 60ms", 1)
		if err := u.Reload(); err != nil {
			t.Fatal(err)
		}
		u.joined()
	}
	pass(60, u) // two heartbeats
	if n := strings.Count(u.log.String(), "joining the fleet"); n != 2 || strings.Contains(u.log.String(), "duplicate_boot") {
		t.Errorf("it joined %d times, want 2, with one boot:\n%s", n, u.log)
	}
	u.stop()
	old := read(t, state)
	u = newNode(t, u.folder, yaml).start()
	u.requests("203.0.113.9", 5)
	u.joined()
	u.stop()
	if err := os.WriteFile(state, []byte(old), 0o600); err != nil { // a backup
		t.Fatal(err)
	}
	u = newNode(t, u.folder, yaml).start()
	if boot, kept := u.kept(); kept || boot == first || !strings.Contains(u.log.String(), "the state is not the one that it saved last") {
		t.Errorf("with an older state: %s, kept %v", boot, kept)
	}
	u.stop()
	copied := shortDir(t)
	if err := os.CopyFS(copied, os.DirFS(u.folder)); err != nil {
		t.Fatal(err)
	}
	u = newNode(t, copied, yaml).start()
	if boot, kept := u.kept(); kept {
		t.Errorf("in a copied folder: %s is kept", boot)
	}
	u.stop()
	if err := os.Remove(filepath.Join(copied, "state", "fleet.boot")); err != nil { // as a kill leaves it
		t.Fatal(err)
	}
	u = newNode(t, copied, yaml).start()
	if boot, kept := u.kept(); kept {
		t.Errorf("without a marker: %s is kept", boot)
	}
}

// Two processes with one boot, as after a machine was copied: it is noticed, one
// of them takes another boot, and all that both count is added up.
func TestTwoProcessesWithOneBoot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	yaml := strings.NewReplacer("$NAME", "edge-0", "$REDIS", server.Addr, "1900", "50").Replace(oneOfThree)
	one := newNode(t, shortDir(t), yaml).start()
	two := newNode(t, shortDir(t), yaml).start()
	two.joined()
	two.stop()
	same, _ := one.kept()
	state := filepath.Join(two.folder, "state")
	marker, err := snapshot.ReadMarker(state)
	if err != nil {
		t.Fatal(err)
	}
	if marker.Boot = same; snapshot.WriteMarker(state, marker) != nil { // what a copied machine has
		t.Fatal("the marker is not written")
	}
	two = newNode(t, two.folder, yaml).start()
	if boot, kept := two.kept(); !kept || boot != same {
		t.Fatalf("the second process has the boot %s, kept: %v", boot, kept)
	}
	another := func(n admin.FleetNode) bool { return n.Alive && n.Boot != same }
	one.eventually("one of them has another boot", func() bool { return slices.ContainsFunc(one.Node.fleet.Nodes(), another) })
	one.eventually("and says why", func() bool { return strings.Contains(one.log.String()+two.log.String(), "fleet_duplicate_boot") })
	from := time.Now().Unix()/5 + 1 // the slot after the one of the change
	one.eventually("that slot", func() bool { return time.Now().Unix()/5 > from })
	const addr = "203.0.113.9"
	one.requests(addr, 30)
	two.requests(addr, 30)
	for _, u := range []*underTest{one, two} {
		u.eventually("both counts are added up", func() bool { return u.blocked(addr) })
	}
	if block := one.standing(addr); block.Count > 60 {
		t.Errorf("the block counts %d of 60", block.Count)
	}
}

// A node that leaves its fleet and joins it again by reloads, under a kept boot,
// pushes what the boot had counted before: Redis has no more of it than that, and
// so nothing that looks forged.
func TestLeaveAndRejoin(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	yaml := strings.NewReplacer("$NAME", "edge-0", "$REDIS", server.Addr).Replace(oneOfThree)
	u := newNode(t, shortDir(t), yaml).start()
	const addr = "203.0.113.9"
	u.eventually("it is joined", func() bool { f := u.fleet(); return f.Up && f.Rounds > 0 })
	u.requests(addr, 700)
	pass(4, u)
	slot := u.clock.Now().Unix() / 5
	u = u.restart()
	if _, kept := u.kept(); !kept {
		t.Fatal("the boot is new")
	}
	u.eventually("a slot is over", func() bool { return u.clock.Now().Unix()/5 > slot+1 })
	alone := regexp.MustCompile(`(?m)^fleet:.*\n`).ReplaceAllString(yaml, "")
	for _, u.yaml = range []string{alone, yaml} {
		if err := u.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	u.eventually("it is joined again", func() bool { f := u.fleet(); return f != nil && f.Up && f.Rounds > 0 })
	u.requests(addr, 10)
	pass(4, u)
	if strings.Contains(u.log.String(), "fleet_forged") {
		t.Errorf("its own counts look forged:\n%s", u.log)
	}
}
