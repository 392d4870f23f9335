package node

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/frontdoor"
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

// An operator's word that a network is clients' has it blocked as any, and is kept over a restart and
// a reload, until it is taken back. It is of this network alone.
func TestClientsByHand(t *testing.T) {
	const rules = `
state: $DIR
rules: [{name: all, threshold: 10, guard: 1}]
`
	ask := func(u *underTest, addr string, n int) {
		events := make([]edgeguard.Event, n)
		for i := range events {
			events[i] = edgeguard.Event{Time: u.clock.Now(), Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
		}
		u.pipeline.Batches("log main")(u.clock.Now(), events)
	}
	blocked := func(u *underTest, addr string) bool {
		standing, _ := u.list.Find(u.clock.Now(), netip.MustParseAddr(addr))
		return standing == blocklist.Blocked
	}
	network := netip.MustParsePrefix("10.0.0.0/24")
	u := newNode(t, t.TempDir(), rules)
	ask(u, "10.0.0.2", 12)
	if blocked(u, "10.0.0.2") {
		t.Fatal("a front door is blocked")
	}
	if _, p := u.admin.operator.AddClient(network); p != nil {
		t.Fatal(p)
	}
	ask(u, "10.0.0.2", 1) // over the limit already
	ask(u, "10.0.1.2", 12)
	if !blocked(u, "10.0.0.2") || blocked(u, "10.0.1.2") {
		t.Errorf("the client is blocked: %v; another front door: %v", blocked(u, "10.0.0.2"), blocked(u, "10.0.1.2"))
	}
	if doors := u.pipeline.FrontDoors(u.clock.Now()); len(doors) > 0 {
		t.Errorf("front doors: %v", doors)
	}
	if _, err := u.store.write(); err != nil {
		t.Fatal(err)
	}
	since := u.admin.operator.Clients().Clients[0].Since

	u = newNode(t, u.folder, rules)
	u.store.restore()
	ask(u, "10.0.0.3", 12)
	all := u.admin.operator.Clients().Clients
	if !blocked(u, "10.0.0.3") || len(all) != 1 || all[0].Prefix != network || !all[0].Since.Equal(since) {
		t.Errorf("after a restart: blocked %v, named %v", blocked(u, "10.0.0.3"), all)
	}
	u.pipeline.Replace(u.clock.Now(), u.pipeline.Current().Config)
	ask(u, "10.0.0.4", 12)
	_, p := u.admin.operator.RemoveClient(network)
	ask(u, "10.0.0.5", 12)
	if !blocked(u, "10.0.0.4") || p != nil || blocked(u, "10.0.0.5") {
		t.Errorf("after a reload: blocked %v; taken back (%v): blocked %v", blocked(u, "10.0.0.4"), p, blocked(u, "10.0.0.5"))
	}
	if _, err := u.store.write(); err != nil {
		t.Fatal(err)
	}
	u = newNode(t, u.folder, rules)
	u.store.restore()
	if all := u.admin.operator.Clients().Clients; len(all) > 0 {
		t.Errorf("taken back, and named after a restart: %v", all)
	}
}

// What is named is bounded, and cannot be all of an address family. What the config names is listed,
// and not removed.
func TestClientsByHandAreBounded(t *testing.T) {
	u := newNode(t, t.TempDir(), "clients: [192.168.0.0/16]\n")
	o := u.admin.operator
	for i := range frontdoor.MostClients {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		if _, p := o.AddClient(netip.PrefixFrom(addr, 32)); p != nil {
			t.Fatal(i, p)
		}
	}
	for text, want := range map[string]int{
		"10.1.0.0/16": http.StatusConflict, "10.0.0.7/32": 0,
		"0.0.0.0/0": http.StatusUnprocessableEntity, "10.0.0.0/7": http.StatusUnprocessableEntity, "::/0": http.StatusUnprocessableEntity,
	} {
		if _, p := o.AddClient(netip.MustParsePrefix(text)); p == nil && want != 0 || p != nil && p.Status != want {
			t.Errorf("%s: %v", text, p)
		}
	}
	if _, p := o.RemoveClient(netip.MustParsePrefix("192.168.0.0/16")); p == nil || p.Status != http.StatusConflict {
		t.Errorf("of the config: %v", p)
	}
	if all := o.Clients().Clients; len(all) != 1+frontdoor.MostClients || all[0].Source != "config" {
		t.Errorf("%d are listed, the first %+v", len(all), all[0])
	}
}
