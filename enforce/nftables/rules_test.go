//go:build linux

package nftables

import (
	"context"
	"iter"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgeguard"
	"edgeguard/enforce"
)

// A flushed rule set is back before the resync, as is anything else that somebody
// changed.
func TestForeignFlushHeals(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	b.replace(e, hour("203.0.113.7/32"))
	ctx, cancel := context.WithCancel(t.Context())
	lost, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		e.Watch(ctx, func() {
			select {
			case lost <- struct{}{}:
			case <-ctx.Done():
			}
		})
	}()
	defer func() { cancel(); <-ended }()
	for _, change := range []string{"flush ruleset", "delete table inet edgeguard", "flush set inet edgeguard blocked4"} {
		b.host.load(change)
		select {
		case <-lost:
		case <-time.After(patience):
			t.Fatalf("not noticed: %s", change)
		}
		b.replace(e, hour("203.0.113.7/32"))
		b.want(e, true, "203.0.113.7")
	}
	for deadline := time.Now().Add(patience); e.Counts().Dropped == 0; time.Sleep(10 * time.Millisecond) {
		select {
		case <-lost: // a tick between a change and its Replace
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the counters are never read")
		}
	}
}

// What others change in tables of their own costs little: their rules are not
// mistaken for ours, and all elements are read seldom.
func TestOthersChangesCostLittle(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	e := n.filter(Config{})
	if err := e.Replace(t.Context(), time.Now(), hour("203.0.113.7/32")); err != nil {
		t.Fatal(err)
	}
	if changed(t, e, time.Now().Add(time.Hour)) {
		t.Error("changed, where nobody changed anything")
	}
	n.load("table inet theirs { }")
	e.reading = time.Second // as with very many elements
	if changed(t, e, e.read.Add(sparing*time.Second-time.Millisecond)) {
		t.Error("all elements are read again at once, for another's table")
	}
	if !changed(t, e, e.read.Add(sparing*time.Second)) {
		t.Error("they are never read again")
	}
	n.load("flush chain inet edgeguard refuse4")
	if !changed(t, e, e.read) {
		t.Error("a lost rule waits")
	}
}

func changed(t *testing.T, f *Filter, now time.Time) bool {
	t.Helper()
	changed, err := f.look(now)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// Packets that a stranger sends in a blocked address' name are counted, and change
// nothing of its end. Neither does an update of the list reset the counts.
func TestPacketsOnlyCount(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	const addr = "203.0.113.7"
	b.replace(e, hour(addr+"/32", "2001:db8::/64"))
	before := b.ends(e, addr+"/32")
	for range 200 {
		b.send(addr, host4)
		b.send("2001:db8::1", host6)
	}
	for deadline := time.Now().Add(patience); b.counts(e).Dropped < 400; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d packets counted, want 400", b.counts(e).Dropped)
		}
	}
	if after := b.ends(e, addr+"/32"); after > before {
		t.Errorf("it ended in %s, and now in %s", before, after)
	}
	b.apply(e, hour("203.0.113.8/32"), "2001:db8::/64")
	b.replace(e, hour(addr+"/32", "198.51.100.0/25")) // another set and rule
	if got := b.counts(e).Dropped; got != 400 {
		t.Errorf("%d packets counted after updates, want 400", got)
	}
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{DryRun: true})
	b.replace(e, hour("203.0.113.7/32", "2001:db8::/64"))
	b.want(e, false, "203.0.113.7", "2001:db8::1", "203.0.113.8")
	if got := b.counts(e); got.Dropped != 0 || got.Passed < 2 {
		t.Errorf("%+v", got)
	}
	b.replace(b.new(Config{}), hour("203.0.113.7/32"))
	b.want(e, true, "203.0.113.7")
}

// A spared address passes, its neighbour does not, also through a foreign flush; and
// it is as blocked as others when its time ends.
func TestSpare(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	spare := func(rest time.Duration, prefixes ...string) {
		t.Helper()
		if err := e.Spare(t.Context(), time.Now(), lasting(rest, prefixes...)); err != nil {
			t.Fatal(err)
		}
	}
	spare(time.Hour, "203.0.113.7/32") // before there is a table
	list := hour("203.0.113.0/24", "2001:db8::/64")
	b.replace(e, list)
	b.want(e, false, "203.0.113.7")
	b.want(e, true, "203.0.113.8", "2001:db8::7")
	spare(time.Hour, "203.0.113.7/32", "2001:db8::7/128")
	b.host.load("flush ruleset")
	b.replace(e, list)
	b.want(e, false, "203.0.113.7", "2001:db8::7")
	b.want(e, true, "203.0.113.8", "2001:db8::8")
	spare(time.Hour, "203.0.113.8/32")
	b.want(e, true, "203.0.113.7", "2001:db8::7")
	spare(200*time.Millisecond, "203.0.113.7/32")
	for deadline := time.Now().Add(patience); !b.drops(e, "203.0.113.7"); {
		if time.Now().After(deadline) {
			t.Fatal("spared for ever")
		}
	}
	if err := e.Spare(t.Context(), time.Now(), hour("203.0.113.0/30")); err == nil {
		t.Error("a prefix can be spared")
	}
}

// Ports that are spared stay open to a blocked address; others, and the same number by
// UDP, do not.
func TestSparePorts(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{SparePorts: []uint16{22, port}})
	b.outside.run("ip", "addr", "add", "192.0.2.7/24", "dev", "wan")
	b.replace(e, hour("192.0.2.7/32"))
	var listener net.Listener
	b.host.do(func() (err error) {
		listener, err = net.Listen("tcp4", "0.0.0.0:9999")
		return err
	})
	defer listener.Close()
	b.outside.do(func() error {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("192.0.2.7")}}
		conn, err := dialer.DialContext(t.Context(), "tcp4", host4+":9999")
		if err == nil {
			conn.Close()
		}
		return err
	})
	b.want(e, true, "192.0.2.7")
	b.want(e, false, "192.0.2.8")
}

// A neighbour on the link is found though it is blocked: else it could not be spared
// on a port either.
func TestNeighboursAreFound(t *testing.T) {
	t.Parallel()
	for name, device := range map[string]string{"prerouting": "", "ingress": "eth0"} {
		b := newBed(t)
		e := b.new(Config{Device: device})
		b.replace(e, hour("2001:db8:ffff::/64", "fe80::/64"))
		b.outside.run("ip", "-6", "neigh", "flush", "all")
		b.host.run("ip", "-6", "neigh", "flush", "all")
		b.send("2001:db8:ffff::254", host6)
		for deadline := time.Now().Add(patience); b.counts(e).Dropped == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: no packet came: the host was not found", name)
			}
		}
	}
}

// Traffic inside the host passes, whatever its source is.
func TestLoopbackPasses(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	b.replace(e, hour(host4+"/32"))
	inside := &bed{t: t, host: b.host, outside: b.host, arrived: make(map[string]bool)}
	text := inside.send(host4, host4)
	for deadline := time.Now().Add(patience); !b.has(text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a datagram to itself does not arrive")
		}
	}
}

// Without the right to change the filter there is one error that says what to do.
func TestMissingRight(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	e := n.filter(Config{})
	e.kernel.netns = 0
	var err error
	n.do(func() error {
		err = unprivileged(func() error { return e.Replace(t.Context(), time.Now(), hour("203.0.113.7/32")) })
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "CAP_NET_ADMIN") || !strings.Contains(err.Error(), "edgeguard snippets nftables") {
		t.Errorf("error %v", err)
	}
}

func TestMissingDevice(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	err := n.filter(Config{Device: "eth7"}).Replace(t.Context(), time.Now(), nil)
	if err == nil || !strings.Contains(err.Error(), "no interface eth7") {
		t.Errorf("error %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{
		{}, {Table: "a b"}, {Table: "ä"}, {Table: strings.Repeat("a", 25)}, {Table: "edgeguard; flush ruleset"},
		{Table: "edgeguard", Device: "a/b"}, {Table: "edgeguard", Device: strings.Repeat("e", 16)},
		{Table: "edgeguard", SparePorts: []uint16{0}}, {Table: "edgeguard", SparePorts: make([]uint16, mostPorts+1)},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// A runner with its blocklist: what was learned behind a proxy stays out, in a whole
// list and as a change, and a foreign flush is healed by itself.
func TestRunner(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	list := &board{}
	list.put("203.0.113.7/32", false)
	list.put("198.51.100.0/24", false)
	list.put("203.0.113.9/32", true)
	runner, err := enforce.New(enforce.Config{Name: "nftables", Enforcer: e, Blocks: list.all, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- runner.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	<-runner.Tried()
	b.want(e, true, "203.0.113.7", "198.51.100.9")
	b.want(e, false, "203.0.113.9", "203.0.113.8")
	for addr, proxied := range map[string]bool{"203.0.113.11/32": true, "203.0.113.12/32": false} {
		updates := runner.Stats().Updates
		runner.Changed(list.put(addr, proxied))
		for deadline := time.Now().Add(patience); runner.Stats().Updates == updates; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no update")
			}
		}
	}
	b.want(e, false, "203.0.113.11")
	b.want(e, true, "203.0.113.12")
	b.host.load("flush ruleset")
	for deadline := time.Now().Add(patience); b.ends(e, "203.0.113.7/32") < 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a flush is not healed")
		}
	}
	b.want(e, true, "203.0.113.7", "203.0.113.12")
	b.want(e, false, "203.0.113.9", "203.0.113.11")
}

// board is a blocklist.
type board struct {
	mu     sync.Mutex // guards blocks
	blocks []edgeguard.Block
}

func (b *board) put(prefix string, proxied bool) edgeguard.Block {
	block := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Until: time.Now().Add(time.Hour), Proxied: proxied}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blocks = append(b.blocks, block)
	return block
}

func (b *board) all(time.Time) iter.Seq[edgeguard.Block] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Values(slices.Clone(b.blocks))
}

// unprivileged calls f without any capability. Its thread must end with it.
func unprivileged(f func() error) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	return f()
}
