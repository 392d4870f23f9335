package lists

import (
	"context"
	"iter"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/enforce"
)

// installed is an enforcer that takes changes, and keeps what is installed.
type installed struct {
	mu       sync.Mutex // guards prefixes
	prefixes map[netip.Prefix]bool
	news     chan struct{}
}

func (*installed) Traits() enforce.Traits { return enforce.Traits{} }
func (*installed) Close() error           { return nil }

func (i *installed) Replace(_ context.Context, _ time.Time, entries []enforce.Entry) error {
	i.mu.Lock()
	clear(i.prefixes)
	i.mu.Unlock()
	return i.Apply(context.Background(), begin, entries, nil)
}

func (i *installed) Apply(_ context.Context, _ time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, e := range add {
		i.prefixes[e.Prefix] = true
	}
	for _, p := range remove {
		delete(i.prefixes, p)
	}
	i.news <- struct{}{}
	return nil
}

// holds reports whether an installed prefix contains the address.
func (i *installed) holds(text string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for p := range i.prefixes {
		if p.Contains(netip.MustParseAddr(text)) {
			return true
		}
	}
	return false
}

// A block around an exempt address reaches an enforcer that takes changes without that
// address, from the first moment on. Its unblock takes out all parts.
func TestChangedIsCut(t *testing.T) {
	c := testConfig(t)
	c.List.SetProtected(prefixes("198.51.100.1/32"))
	c.Protected = func() []netip.Prefix { return prefixes("198.51.100.1/32") }
	c.List.SetPeers(nil, prefixes("198.51.100.8/32"))
	c.Current().Allowlist = prefixes("198.51.100.200/32")
	c.List.SetAllow(c.Current().Allowlist)
	e := New(c)
	list := &installed{prefixes: map[netip.Prefix]bool{}, news: make(chan struct{}, 100)}
	runner, err := enforce.New(enforce.Config{Name: "list", Enforcer: list, Blocks: func(now time.Time) iter.Seq[edgeguard.Block] { return e.config.All(now, nil) }, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e.running.Settle(ctx, []*enforcer{{key: "list", name: "list", list: list, runner: runner}})
	defer func() { cancel(); e.running.Stop() }()
	c.List.OnChange(e.Changed)
	<-list.news // the list at the start
	block := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Since: begin, Until: begin.Add(time.Hour)}
	if _, _, err := c.List.Add(block, false, begin); err != nil {
		t.Fatal(err)
	}
	<-list.news
	var in []string
	for _, addr := range []string{"198.51.100.1", "198.51.100.2", "198.51.100.8", "198.51.100.9", "198.51.100.200", "198.51.100.201"} {
		if list.holds(addr) {
			in = append(in, addr)
		}
	}
	if want := []string{"198.51.100.2", "198.51.100.9", "198.51.100.201"}; !slices.Equal(in, want) {
		t.Errorf("installed: %v, want %v", in, want)
	}
	// 198.51.100.9/32 is one of the parts: a block of it that ends must not lift the part.
	if _, _, err := c.List.Add(edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.9/32"), Since: begin, Until: begin.Add(time.Minute)}, false, begin); err != nil {
		t.Fatal(err)
	}
	<-list.news
	c.List.Lift(netip.MustParsePrefix("198.51.100.9/32"), begin, "", "")
	<-list.news
	if !list.holds("198.51.100.9") {
		t.Error("a part of a block was lifted with a block inside it")
	}
	c.List.Lift(block.Prefix, begin, "", "")
	<-list.news
	if list.holds("198.51.100.9") {
		t.Error("still installed")
	}
}
