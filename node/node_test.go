package node

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

const small = `
node: test
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
state: $DIR/state
sensors: {accesslog: [{file: $DIR/access.log, format: combined, emit: request}]}
enforce: {files: [{file: $DIR/deny.conf, format: plain}]}
rules: [{name: small, threshold: 10, guard: 1}]
`

// A node with everything blocks who goes over the limit, hands the block to
// its enforcer, and ends with no goroutine left (main_test.go sees to that).
func TestNodeBlocksAndEnds(t *testing.T) {
	u := newNode(t, shortDir(t), small).start()
	for range 10 {
		if v := u.request("203.0.113.9"); v.Action != edgeguard.ActionPass {
			t.Fatalf("under the limit: %+v", v)
		}
	}
	if v := u.request("203.0.113.9"); v.Action != edgeguard.ActionDeny {
		t.Fatalf("over the limit: %+v", v)
	}
	u.eventually("the enforcer has it", func() bool { return read(t, u.folder, "deny.conf") == "203.0.113.9\n" })
	u.eventually("it is logged", func() bool {
		return strings.Count(u.log.String(), "msg=blocked prefix=203.0.113.9") == 1
	})
	for range 100 {
		u.request("203.0.113.9")
	}
	u.stop()
	if n := strings.Count(u.log.String(), "203.0.113.9"); n != 1 {
		t.Errorf("%d lines name the address, want one for the block and none for its requests:\n%s", n, u.log)
	}
}

// Monitor decides and shows everything, and nothing is enforced: neither the
// requests nor the lists hear of a block.
func TestMonitorEnforcesNothing(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), "mode: monitor\n"+small).start()
	for range 20 {
		if v := u.request("203.0.113.9"); v.Action == edgeguard.ActionDeny {
			t.Fatalf("denied in mode monitor: %+v", v)
		}
	}
	if !u.blocked("203.0.113.9") {
		t.Error("the would-be block is not in the list")
	}
	view := u.view()
	b := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.7/32"), Rule: "manual", Since: view.Now(), Until: view.Now().Add(time.Hour)}
	if _, err := view.Block(b, false); err != nil {
		t.Fatal(err)
	}
	if v := u.request("198.51.100.7"); v.Action != edgeguard.ActionShadow {
		t.Errorf("a manual block in mode monitor: %+v", v)
	}
	u.eventually("the list was written", func() bool { return u.view().Stats().Enforcers[0].Updates > 0 })
	// Switching the mode passes the active blocks on, and removes them again.
	u.yaml = small
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	u.eventually("both are enforced", func() bool { return read(t, u.folder, "deny.conf") == "198.51.100.7\n203.0.113.9\n" })
	u.yaml = "mode: monitor\n" + small
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	u.eventually("none is", func() bool { return read(t, u.folder, "deny.conf") == "" })
}

// Fault 13: whoever the host cannot do without is never blocked, however much
// it sends, and a manual block of it wants force.
func TestNobodyBlocksItself(t *testing.T) {
	u := newNode(t, shortDir(t), small+"protected: [192.0.2.53]\ntrusted_proxies: [127.0.0.0/8, 192.0.2.80/32]\n").start()
	own := []string{"127.0.0.1", "::1", "169.254.1.1", "fe80::1", "192.0.2.53", "192.0.2.80"}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		own = append(own, a.(*net.IPNet).IP.String())
	}
	for _, addr := range own {
		for range 50 {
			if v := u.request(addr); v.Action != edgeguard.ActionPass {
				t.Fatalf("%s: %+v", addr, v)
			}
		}
		view := u.view()
		a := netip.MustParseAddr(addr)
		b := edgeguard.Block{Prefix: netip.PrefixFrom(a, a.BitLen()), Rule: "manual", Since: view.Now(), Until: view.Now().Add(time.Hour)}
		if _, err := view.Block(b, false); !errors.Is(err, blocklist.ErrProtected) {
			t.Errorf("a manual block of %s: %v", addr, err)
		}
		if e := view.Explain(view.Now(), a); e.Because == "" {
			t.Errorf("%s: the reason for its protection is missing: %+v", addr, e)
		}
	}
	if n := u.list.Len(); n != 0 {
		t.Errorf("%d blocks", n)
	}
}

// A reload under load loses no count: the threshold is no part of what is
// counted.
func TestReloadKeepsCounts(t *testing.T) {
	u := newNode(t, shortDir(t), strings.Replace(small, "threshold: 10", "threshold: 60000", 1)).start()
	const workers, each = 4, 5000
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				u.request("203.0.113.9")
			}
		})
	}
	for i := range 20 {
		u.yaml = strings.Replace(small, "threshold: 10", []string{"threshold: 50000", "threshold: 60000"}[i%2], 1)
		if err := u.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if got := u.count("203.0.113.9"); got != workers*each {
		t.Errorf("counted %d of %d over 20 reloads", got, workers*each)
	}
}

// A config with a mistake, or with an address that is taken, changes nothing.
func TestReloadRefuses(t *testing.T) {
	u := newNode(t, shortDir(t), small).start()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	before := u.pipeline.Current()
	for _, yaml := range []string{
		strings.Replace(small, "threshold: 10", "threshold: many", 1),
		strings.Replace(small, "format: combined", "format: conbined", 1),
		strings.Replace(small, "format: combined", "format: 'csv:time=a,addr=b'", 1),
		strings.Replace(small, `"unix:$DIR/auth.sock"`, `"`+taken.Addr().String()+`"`, 1),
	} {
		u.yaml = yaml
		if err := u.Reload(); err == nil {
			t.Errorf("accepted:\n%s", yaml)
		}
	}
	if u.pipeline.Current() != before {
		t.Error("something was changed")
	}
	if s := u.view().Stats(); s.Reload == nil || s.Reload.OK || len(s.Alarms()) == 0 {
		t.Errorf("the failed reload is not shown: %+v", s)
	}
	u.yaml = small
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	if s := u.view().Stats(); !s.Reload.OK {
		t.Errorf("the reload that went well: %+v", s.Reload)
	}
}

// A line is counted once, whenever the node ends and begins: the state's
// counts and positions are of one moment.
func TestRestartsCountEachLineOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	folder := shortDir(t)
	yaml := strings.Replace(small, "threshold: 10", "threshold: 60000", 1)
	file := filepath.Join(folder, "access.log")
	total := 0
	write := func() {
		lines := 1 + random.IntN(500)
		writeLog(t, file, "203.0.113.9", lines)
		total += lines
	}
	newNode(t, folder, yaml).start().stop() // the first start begins at the end of what is there
	for range 8 {
		write()
		u := newNode(t, folder, yaml).start()
		for range random.IntN(4) {
			write()
			u.store.save() // a cut in the middle of the reading
		}
		u.stop()
	}
	u := newNode(t, folder, yaml).start()
	u.eventually("all lines are counted", func() bool { return u.count("203.0.113.9") >= total })
	if got := u.count("203.0.113.9"); got != total {
		t.Errorf("%d lines counted as %d", total, got)
	}
}

// What an operator forced is in force after a restart, and what is spared by then
// does not come back.
func TestRestartKeepsForcedBlocks(t *testing.T) {
	folder := shortDir(t)
	u := newNode(t, folder, small).start()
	view1 := u.view()
	for _, prefix := range []string{"10.0.0.0/8", "169.254.7.7/32", "203.0.113.9/32", "198.51.100.1/32"} {
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "manual", Since: view1.Now(), Until: view1.Now().Add(time.Hour)}
		if _, err := view1.Block(b, true); err != nil {
			t.Fatal(err)
		}
	}
	u.stop()
	u = newNode(t, folder, small+"allowlist: [198.51.100.0/24]\n").start()
	for addr, want := range map[string]bool{"10.1.2.3": true, "169.254.7.7": true, "203.0.113.9": true, "198.51.100.1": false} {
		if u.blocked(addr) != want {
			t.Errorf("%s blocked: %v, want %v\n%s", addr, !want, want, u.log)
		}
	}
}

// Counts of keys with attributes outlive a restart as well, and so does the
// word that a block was taken back.
func TestRestartKeepsAttributesAndTombstones(t *testing.T) {
	folder := shortDir(t)
	yaml := strings.Replace(small, "guard: 1}", "guard: 1, action: deny, key: {with: [host]}}", 1)
	ask := func(u *underTest, host string) edgeguard.Action {
		now := u.clock.Now()
		event := requestOf("203.0.113.9", now)
		event.Known, event.Host = edgeguard.FieldHost, host
		return u.pipeline.Decide(now, &event).Action
	}
	u := newNode(t, folder, yaml).start()
	for range 10 {
		ask(u, "one.example")
		ask(u, "two.example")
	}
	prefix := netip.MustParsePrefix("198.51.100.1/32")
	before := u.view()
	b := edgeguard.Block{Prefix: prefix, Rule: "manual", Since: before.Now(), Until: before.Now().Add(time.Hour)}
	if _, err := before.Block(b, false); err != nil {
		t.Fatal(err)
	}
	before.Unblock(prefix, "a mistake")
	version := u.list.Version(prefix)
	u.stop()
	u = newNode(t, folder, yaml).start()
	for host, want := range map[string]edgeguard.Action{"one.example": edgeguard.ActionDeny, "three.example": edgeguard.ActionPass} {
		if got := ask(u, host); got != want {
			t.Errorf("%s after the restart: %v, want %v", host, got, want)
		}
	}
	if got := u.list.Version(prefix); got != version || u.blocked("198.51.100.1") {
		t.Errorf("the tombstone: version %d, want %d", got, version)
	}
}

// A node that says it is ready has saved where its logs begin: killed at that
// moment, on its very first start, it goes on from there.
func TestFirstPlaceIsSaved(t *testing.T) {
	folder := shortDir(t)
	file := filepath.Join(folder, "access.log")
	writeLog(t, file, "203.0.113.8", 3) // from before the first start
	u := newNode(t, folder, small).start()
	state := read(t, folder, "state", stateName) // what a kill leaves
	u.stop()
	writeLog(t, file, "203.0.113.9", 5)
	if err := os.WriteFile(filepath.Join(folder, "state", stateName), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	u = newNode(t, folder, small).start()
	u.eventually("the lines are counted", func() bool { return u.count("203.0.113.9") == 5 })
	if n := u.count("203.0.113.8"); n != 0 {
		t.Errorf("%d lines from before the first start are counted", n)
	}
}
