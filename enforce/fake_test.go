package enforce

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard"
)

// fake notes what it is asked to do, and does what answer says.
type fake struct {
	traits Traits
	answer func(ctx context.Context, call int) error // nil: all goes well

	mu    sync.Mutex // guards what follows
	start time.Time
	calls []string // "2s replace 192.0.2.1 192.0.2.2"
	last  time.Time
}

func newFake(every time.Duration) *fake {
	return &fake{traits: Traits{Every: every}, start: time.Now()}
}

func (f *fake) Traits() Traits { return f.traits }
func (f *fake) Close() error   { return nil }

func (f *fake) Replace(ctx context.Context, now time.Time, entries []Entry) error {
	return f.note(ctx, "replace "+prefixes(entries))
}

func (f *fake) note(ctx context.Context, what string) error {
	f.mu.Lock()
	f.last = time.Now()
	f.calls = append(f.calls, strings.TrimSpace(fmt.Sprintf("%s %s", f.last.Sub(f.start), what)))
	n := len(f.calls)
	f.mu.Unlock()
	if f.answer == nil {
		return nil
	}
	return f.answer(ctx, n)
}

func (f *fake) heard() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// fakeKernel takes changes too.
type fakeKernel struct{ *fake }

func (f fakeKernel) Apply(ctx context.Context, now time.Time, add []Entry, remove []netip.Prefix) error {
	slices.SortFunc(add, comparePrefix)
	what := "apply +" + prefixes(add) + " -"
	slices.SortFunc(remove, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	for _, p := range remove {
		what += prefixText(p) + " "
	}
	return f.note(ctx, what)
}

// board is a blocklist: it tells a runner as the real one does.
type board struct {
	mu     sync.Mutex // guards what follows
	blocks map[netip.Prefix]edgeguard.Block
	runner *Runner
}

func (b *board) all(now time.Time) iter.Seq[edgeguard.Block] {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.Collect(maps.Values(b.blocks))
	return slices.Values(list)
}

func (b *board) put(blocks ...edgeguard.Block) {
	for _, x := range blocks {
		b.mu.Lock()
		b.blocks[x.Prefix] = x
		b.mu.Unlock()
		b.runner.Changed(x)
	}
}

func (b *board) lift(prefix string) {
	p := netip.MustParsePrefix(prefix)
	b.mu.Lock()
	x := b.blocks[p]
	x.Lifted = true
	delete(b.blocks, p)
	b.mu.Unlock()
	b.runner.Changed(x)
}
