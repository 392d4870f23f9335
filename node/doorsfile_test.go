package node

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// A restart keeps that a source has shown clients of the Internet, by the source's name: a private
// address in it is a client's then, and in another source still a balancer's.
func TestDoorsOverARestart(t *testing.T) {
	const rules = `
state: $DIR
rules: [{name: all, threshold: 10, guard: 1}]
`
	batch := func(u *underTest, source, addr string, n int) {
		events := make([]edgeguard.Event, n)
		for i := range events {
			events[i] = edgeguard.Event{Time: u.clock.Now(), Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
		}
		u.pipeline.Batches(source)(u.clock.Now(), events)
	}
	blocked := func(u *underTest, addr string) bool {
		standing, _ := u.list.Find(u.clock.Now(), netip.MustParseAddr(addr))
		return standing == blocklist.Blocked
	}
	u := newNode(t, t.TempDir(), rules)
	batch(u, "log other", "10.0.0.1", 1)
	batch(u, "log main", "203.0.113.9", 1)
	if _, err := u.store.write(); err != nil {
		t.Fatal(err)
	}
	u = newNode(t, u.folder, rules)
	u.store.restore()
	batch(u, "log main", "10.0.0.2", 12) // has the other number now
	batch(u, "log other", "10.0.0.3", 12)
	if !blocked(u, "10.0.0.2") || blocked(u, "10.0.0.3") {
		t.Errorf("in the log of clients: blocked %v; in the balancer's: %v", blocked(u, "10.0.0.2"), blocked(u, "10.0.0.3"))
	}
	if doors := u.pipeline.FrontDoors(u.clock.Now()); len(doors) != 1 || doors["log other"] != "private" {
		t.Errorf("front doors: %v", doors)
	}
	for _, at := range u.pipeline.Public() {
		if ago := u.clock.Now().Sub(at); ago < 0 || ago > time.Hour {
			t.Errorf("a public client %v ago", ago)
		}
	}
}
