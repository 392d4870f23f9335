package nftables

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard/enforce"
)

var (
	begin = time.Unix(1_800_000_000, 0)
	peer  = netip.MustParseAddr("203.0.113.7")
	other = netip.MustParseAddr("2001:db8::7")
)

// fakeKernel ends its elements by itself, as the real one does, by a clock of its own.
type fakeKernel struct {
	elements map[netip.Prefix]time.Duration // from the call on
	spared   []enforce.Entry
	asked    int
	err      error
	slow     time.Duration
}

func (*fakeKernel) Traits() enforce.Traits { return enforce.Traits{Kernel: true} }
func (*fakeKernel) Close() error           { return nil }

func (*fakeKernel) Watch(context.Context, func()) {}
func (*fakeKernel) Counts() Counts                { return Counts{Dropped: 7} }

func (k *fakeKernel) Spare(_ context.Context, _ time.Time, spared []enforce.Entry) error {
	k.spared = spared
	k.asked++
	return k.err
}

func (k *fakeKernel) Replace(ctx context.Context, now time.Time, entries []enforce.Entry) error {
	time.Sleep(k.slow)
	k.elements = make(map[netip.Prefix]time.Duration)
	return k.Apply(ctx, now, entries, nil)
}

func (k *fakeKernel) Apply(_ context.Context, now time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	for _, p := range remove {
		delete(k.elements, p)
	}
	for _, e := range add {
		k.elements[e.Prefix] = e.Until.Sub(now)
	}
	return k.err
}

// has fails unless the kernel has exactly these elements, each for so long.
func (k *fakeKernel) has(t *testing.T, when string, want map[string]time.Duration) {
	t.Helper()
	got := make(map[string]time.Duration)
	for p, lasts := range k.elements {
		got[p.String()] = lasts
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s: the kernel has %v, want %v", when, got, want)
	}
}

func entry(prefix string, lasts time.Duration) enforce.Entry {
	return enforce.Entry{Prefix: netip.MustParsePrefix(prefix), Until: begin.Add(lasts)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// During a trial no element outlives it, whatever is installed and however; after its
// end nothing is installed. Nothing but the clock's argument ends it.
func TestTrialEnds(t *testing.T) {
	t.Parallel()
	k, state := &fakeKernel{}, &Trial{}
	l, ctx := NewTrialList(k, state), t.Context()
	all := []enforce.Entry{entry("192.0.2.1/32", time.Hour), entry("192.0.2.2/32", time.Minute)}
	must(t, l.Replace(ctx, begin, all))
	k.has(t, "in force", map[string]time.Duration{"192.0.2.1/32": time.Hour, "192.0.2.2/32": time.Minute})

	state.Begin(begin.Add(5*time.Minute), []netip.Addr{other, peer, peer}, false)
	must(t, l.Empty(ctx, begin))
	k.has(t, "as the trial begins", map[string]time.Duration{})
	if want := []enforce.Entry{entry("203.0.113.7/32", 5*time.Minute), entry("2001:db8::7/128", 5*time.Minute)}; !slices.Equal(k.spared, want) {
		t.Errorf("spared are %v, want %v", k.spared, want)
	}
	must(t, l.Replace(ctx, begin.Add(time.Second), all))
	k.has(t, "in the trial", map[string]time.Duration{"192.0.2.1/32": 5*time.Minute - time.Second, "192.0.2.2/32": time.Minute - time.Second})
	must(t, l.Apply(ctx, begin.Add(time.Minute), []enforce.Entry{entry("192.0.2.3/32", time.Hour)}, []netip.Prefix{all[1].Prefix}))
	k.has(t, "changed", map[string]time.Duration{"192.0.2.1/32": 5*time.Minute - time.Second, "192.0.2.3/32": 4 * time.Minute})
	if all[0].Until != begin.Add(time.Hour) {
		t.Error("the caller's entries were changed")
	}
	for _, at := range []time.Duration{5 * time.Minute, time.Hour, 10 * 365 * 24 * time.Hour} {
		must(t, l.Replace(ctx, begin.Add(at), all))
		k.has(t, "after the trial", map[string]time.Duration{})
		must(t, l.Apply(ctx, begin.Add(at), all, nil))
		k.has(t, "changed after it", map[string]time.Duration{})
		if len(k.spared) > 0 || k.asked != 2 {
			t.Errorf("spared still: %v; asked %d times", k.spared, k.asked)
		}
	}
	if s := state.StatusAt(begin.Add(time.Hour)); s.State != Paused || s.Why != Unconfirmed || s.Until != begin.Add(5*time.Minute) {
		t.Errorf("after it: %+v", s)
	}
	state.PutInForce()
	must(t, l.Replace(ctx, begin.Add(30*time.Minute), all[:1]))
	k.has(t, "resumed", map[string]time.Duration{"192.0.2.1/32": 30 * time.Minute})
}

// A second trial moves the end, and spares who was spared.
func TestSecondTrial(t *testing.T) {
	t.Parallel()
	state := &Trial{}
	state.Begin(begin.Add(time.Minute), []netip.Addr{peer}, false)
	state.Begin(begin.Add(10*time.Second), []netip.Addr{other}, false)
	s := state.StatusAt(begin)
	if s.State != Trying || s.TimeLeft(begin) != 10*time.Second || !slices.Equal(s.Spared, []netip.Addr{peer, other}) {
		t.Errorf("%+v", s)
	}
	state.Pause("")
	state.Begin(begin.Add(time.Minute), []netip.Addr{other}, false)
	if s := state.StatusAt(begin); !slices.Equal(s.Spared, []netip.Addr{other}) {
		t.Errorf("spared of the trial before: %v", s.Spared)
	}
}

// An operator who empties the list while a long one is installed waits for it, and the
// list is empty then.
func TestEmptyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, state := &fakeKernel{slow: time.Second}, &Trial{}
		l := NewTrialList(k, state)
		done := make(chan error)
		go func() { done <- l.Replace(t.Context(), begin, []enforce.Entry{entry("192.0.2.1/32", time.Hour)}) }()
		synctest.Wait()
		state.Pause("")
		must(t, l.Empty(t.Context(), begin))
		must(t, <-done)
		k.has(t, "emptied", map[string]time.Duration{})
	})
}

// What the kernel refuses is reported; where nobody can be spared nothing is installed.
func TestKernelFails(t *testing.T) {
	t.Parallel()
	k, state := &fakeKernel{err: errors.New("refused")}, &Trial{}
	l := NewTrialList(k, state)
	state.Begin(begin.Add(time.Minute), []netip.Addr{peer}, false)
	if err := l.Replace(t.Context(), begin, []enforce.Entry{entry("192.0.2.1/32", time.Hour)}); err == nil || k.elements != nil {
		t.Errorf("%v, installed %v", err, k.elements)
	}
}

// The mark survives; a damaged or foreign one pauses, too.
func TestMark(t *testing.T) {
	t.Parallel()
	m := TrialMark{filepath.Join(t.TempDir(), TrialMarkName)}
	if _, paused := m.Read(); paused {
		t.Error("paused without a mark")
	}
	must(t, m.Remove())
	must(t, m.WriteMark("first"))
	must(t, m.WriteMark("second"))
	if why, paused := m.Read(); !paused || why != "second" {
		t.Errorf("%q, %v", why, paused)
	}
	must(t, m.Remove())
	if _, paused := m.Read(); paused {
		t.Error("paused after its end")
	}
	must(t, os.WriteFile(m.Path, []byte(strings.Repeat("x", 1<<20)), 0o644))
	if why, paused := m.Read(); !paused || len(why) > mostMark {
		t.Errorf("%d bytes, %v", len(why), paused)
	}
	must(t, os.Remove(m.Path))
	must(t, os.Mkdir(m.Path, 0o755))
	if _, paused := m.Read(); !paused {
		t.Error("a folder in its place does not pause")
	}
	if err := (TrialMark{filepath.Join(t.TempDir(), "none", TrialMarkName)}).WriteMark(""); err == nil {
		t.Error("set without its folder")
	}
}
