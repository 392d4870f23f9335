package enforce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard"
)

// running starts a runner over an empty board inside a synctest bubble, and
// ends it with the test.
func running(t *testing.T, e Enforcer, c Config) (*board, *Runner) {
	t.Helper()
	b := &board{blocks: make(map[netip.Prefix]edgeguard.Block)}
	c.Name, c.Enforcer, c.Blocks, c.Now = "fake", e, b.all, time.Now
	if c.Resync == 0 {
		c.Resync = time.Hour
	}
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.runner = r
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
	return b, r
}

func wantCalls(t *testing.T, f *fake, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := f.heard(); !slices.Equal(got, want) {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func in(d time.Duration) time.Time { return time.Now().Add(d) }

func TestReconcilesAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		f.answer = func(context.Context, int) error { time.Sleep(3 * time.Second); return errors.New("not yet") }
		_, r := running(t, f, Config{})
		wantCalls(t, f, "0s replace")
		<-r.Tried()
		if waited := time.Since(f.start); waited != 3*time.Second {
			t.Errorf("tried after %s", waited)
		}
		time.Sleep(time.Minute)
	})
}

// TestSlowEnforcerRests: one that needs longer than its Every is not kept busy.
func TestSlowEnforcerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		f.answer = func(context.Context, int) error { time.Sleep(5 * time.Second); return nil }
		b, _ := running(t, f, Config{})
		for range 50 {
			b.put(block("192.0.2.1/32", in(time.Hour)))
			time.Sleep(time.Second)
		}
		wantCalls(t, f, "0s replace", "20s replace 192.0.2.1", "40s replace 192.0.2.1")
		time.Sleep(time.Minute)
	})
}

func TestCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10 * time.Second)
		b, r := running(t, f, Config{})
		time.Sleep(time.Minute)
		f.heard()
		b.put(block("192.0.2.1/32", in(time.Hour))) // the first is not held up
		synctest.Wait()
		for i := range 100 {
			b.put(block(fmt.Sprintf("192.0.2.%d/32", i+1), in(time.Hour)))
			time.Sleep(50 * time.Millisecond)
		}
		if s := r.Stats(); !s.Behind || s.Installed != 1 {
			t.Errorf("while waiting: %+v", s)
		}
		time.Sleep(time.Minute)
		calls := f.heard()
		if len(calls) != 2 || calls[0] != "1m0s replace 192.0.2.1" || !strings.HasPrefix(calls[1], "1m10s replace 192.0.2.1 192.0.2.2") {
			t.Errorf("calls %q", calls)
		}
		if s := r.Stats(); s.Behind || s.Intended != 100 || s.Installed != 100 || s.Updates != 3 || s.LastSuccess.IsZero() {
			t.Errorf("after: %+v", s)
		}
	})
}

func TestRewritesWhenBlocksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		b, _ := running(t, f, Config{})
		time.Sleep(time.Second)
		b.put(block("192.0.2.1/32", in(10*time.Second)))
		synctest.Wait()
		b.put(block("192.0.2.2/32", in(20*time.Second)), block("192.0.2.3/32", in(20*time.Second)))
		time.Sleep(time.Minute)
		wantCalls(t, f, "0s replace", "1s replace 192.0.2.1", "2s replace 192.0.2.1 192.0.2.2 192.0.2.3",
			"11s replace 192.0.2.2 192.0.2.3", "21s replace")
	})
}

func TestLiftAndExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		b, _ := running(t, f, Config{})
		time.Sleep(5 * time.Second)
		b.put(block("192.0.2.1/32", in(10*time.Second)))
		time.Sleep(5 * time.Second)
		b.put(block("192.0.2.1/32", in(30*time.Second))) // ends at 40 s, not at 15 s
		time.Sleep(15 * time.Second)
		wantCalls(t, f, "0s replace", "5s replace 192.0.2.1", "10s replace 192.0.2.1")
		b.lift("192.0.2.1/32")
		wantCalls(t, f, "25s replace")
	})
}

func TestFailureIsRetriedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var broken atomic.Bool
		broken.Store(true)
		f := newFake(10 * time.Second)
		f.answer = func(context.Context, int) error {
			if broken.Load() {
				return errors.New("no such table")
			}
			return nil
		}
		b, r := running(t, f, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		for range 1000 {
			b.put(block("192.0.2.1/32", in(time.Hour)))
		}
		time.Sleep(200 * time.Second)
		wantCalls(t, f, "0s replace", "10s replace 192.0.2.1", "30s replace 192.0.2.1", "1m10s replace 192.0.2.1",
			"2m10s replace 192.0.2.1", "3m10s replace 192.0.2.1")
		s := r.Stats()
		if s.Failures != 6 || s.Failing != 6 || s.Intended != 1 || s.Installed != 0 || !s.Behind || s.LastError == nil || s.LastFailure.IsZero() {
			t.Errorf("while failing: %+v", s)
		}
		if n := strings.Count(log.String(), "no such table"); n != 1 {
			t.Errorf("%d log lines of one failure:\n%s", n, &log)
		}
		broken.Store(false)
		time.Sleep(time.Minute)
		wantCalls(t, f, "4m10s replace 192.0.2.1")
		if s := r.Stats(); s.Failing != 0 || s.Failures != 6 || s.Installed != 1 || s.Behind {
			t.Errorf("after: %+v", s)
		}
		if !strings.Contains(log.String(), "works again") {
			t.Errorf("log:\n%s", &log)
		}
	})
}

// TestHangDelaysNobody: while the enforcer hangs, Changed returns at once, and
// what it said is not lost.
func TestHangDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFake(time.Second)
		f.answer = func(ctx context.Context, call int) error {
			if call == 1 {
				<-release
			}
			return nil
		}
		b, _ := running(t, f, Config{})
		before := time.Now()
		for i := range 50 {
			b.put(block(fmt.Sprintf("192.0.2.%d/32", i), in(time.Hour)))
		}
		if waited := time.Since(before); waited != 0 {
			t.Errorf("Changed waited %s", waited)
		}
		close(release)
		time.Sleep(time.Second)
		synctest.Wait()
		if calls := f.heard(); len(calls) != 2 || strings.Count(calls[1], " ") != 51 {
			t.Errorf("calls %q", calls)
		}
	})
}

func TestCutOffAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		f.answer = func(ctx context.Context, call int) error { <-ctx.Done(); return ctx.Err() }
		_, r := running(t, f, Config{}) // its clean-up waits for Run
		t.Cleanup(func() {
			if s := r.Stats(); s.Failures != 0 {
				t.Errorf("the end counts as a failure: %+v", s)
			}
		})
	})
}

func TestResyncMends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		b, r := running(t, f, Config{Resync: time.Minute})
		time.Sleep(time.Second)
		b.put(block("192.0.2.1/32", in(time.Hour)))
		time.Sleep(2 * time.Minute)
		wantCalls(t, f, "0s replace", "1s replace 192.0.2.1", "1m1s replace 192.0.2.1", "2m1s replace 192.0.2.1")
		r.Refresh()
		time.Sleep(time.Second)
		wantCalls(t, f, "2m2s replace 192.0.2.1")
	})
}

// fakeWatched says that something is lost whenever it is sent that.
type fakeWatched struct {
	fakeKernel
	lost chan struct{}
}

func (f fakeWatched) Watch(ctx context.Context, lost func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.lost:
			lost()
		}
	}
}

// What somebody else took out comes back long before the resync.
func TestLostIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		w := fakeWatched{fakeKernel{f}, make(chan struct{})}
		b, _ := running(t, w, Config{})
		time.Sleep(time.Second)
		b.put(block("192.0.2.1/32", in(time.Hour)))
		time.Sleep(time.Minute)
		w.lost <- struct{}{}
		wantCalls(t, f, "0s replace", "1s apply +192.0.2.1 -", "1m1s replace 192.0.2.1")
	})
}

func TestIncremental(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		b, r := running(t, fakeKernel{f}, Config{})
		time.Sleep(10 * time.Second)
		b.put(block("192.0.2.1/32", in(20*time.Second)))
		synctest.Wait()
		b.put(block("192.0.2.2/32", in(time.Hour)), block("2001:db8::/64", in(time.Hour)), block("192.0.2.3/32", in(time.Hour)))
		b.lift("192.0.2.3/32")
		b.lift("192.0.2.1/32")
		if s := r.Stats(); s.Pending != 4 || !s.Behind {
			t.Errorf("stats %+v", s)
		}
		time.Sleep(time.Minute) // and no call at the end of a block: the kernel does that
		wantCalls(t, f, "0s replace", "10s apply +192.0.2.1 -", "11s apply +192.0.2.2 2001:db8::/64 -192.0.2.1 192.0.2.3")
		r.Refresh()
		wantCalls(t, f, "1m10s replace 192.0.2.2 2001:db8::/64")
	})
}

// The figures of an incremental enforcer have what Apply installed, each prefix once, and
// not what it could not.
func TestIncrementalFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		var broken atomic.Bool
		f.answer = func(context.Context, int) error {
			if broken.Load() {
				return errors.New("batch refused")
			}
			return nil
		}
		b, r := running(t, fakeKernel{f}, Config{})
		want := func(when string, intended, installed int) {
			t.Helper()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if s := r.Stats(); s.Intended != intended || s.Installed != installed {
				t.Errorf("%s: %d intended and %d installed, want %d and %d", when, s.Intended, s.Installed, intended, installed)
			}
		}
		want("at first", 0, 0)
		b.put(block("192.0.2.1/32", in(time.Hour)), block("192.0.2.2/32", in(time.Hour)), block("2001:db8::/64", in(time.Hour)))
		want("three blocks", 3, 3)
		b.put(block("192.0.2.2/32", in(2*time.Hour)))
		want("one lasts longer", 3, 3)
		b.lift("192.0.2.1/32")
		b.lift("203.0.113.1/32") // it was not there
		want("one lifted", 2, 2)
		r.Refresh()
		want("the whole list", 2, 2)
		b.lift("2001:db8::/64")
		want("one of the whole list lifted", 1, 1)
		broken.Store(true)
		b.put(block("192.0.2.3/32", in(time.Hour)))
		want("refused", 2, 1)
		broken.Store(false)
		time.Sleep(time.Minute)
		want("works again", 2, 2)
	})
}

// TestFailedChangesAreReplaced: after an error nobody knows what is installed.
func TestFailedChangesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		f.answer = func(ctx context.Context, call int) error {
			if call == 2 {
				return errors.New("batch refused")
			}
			return nil
		}
		b, _ := running(t, fakeKernel{f}, Config{})
		time.Sleep(time.Second)
		b.put(block("192.0.2.1/32", in(time.Hour)))
		time.Sleep(time.Minute)
		wantCalls(t, f, "0s replace", "1s apply +192.0.2.1 -", "2s replace 192.0.2.1")
	})
}

func TestPendingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Second)
		b, r := running(t, fakeKernel{f}, Config{Every: 10 * time.Second})
		for i := range 3 * maxPending {
			b.put(edgeguard.Block{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32), Until: in(time.Hour)})
			if s := r.Stats(); s.Pending > maxPending {
				t.Fatalf("%d changes pending", s.Pending)
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if calls := f.heard(); len(calls) != 2 || !strings.HasPrefix(calls[1], "10s replace 10.0.0.0 ") {
			t.Errorf("%d calls", len(calls))
		}
		if s := r.Stats(); s.Installed != 3*maxPending {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestProxiedStaysOutOfTheKernel: also where a block becomes proxied later.
func TestProxiedStaysOutOfTheKernel(t *testing.T) {
	proxied := func(b edgeguard.Block) edgeguard.Block { b.Proxied = true; return b }
	t.Run("kernel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(time.Second)
			f.traits.Kernel = true
			b, r := running(t, fakeKernel{f}, Config{})
			time.Sleep(time.Second)
			b.put(proxied(block("192.0.2.1/32", in(time.Hour))))
			time.Sleep(time.Second)
			b.put(block("192.0.2.2/32", in(time.Hour)))
			synctest.Wait()
			r.Refresh()
			time.Sleep(time.Second)
			wantCalls(t, f, "0s replace", "1s apply + -192.0.2.1", "2s apply +192.0.2.2 -", "3s replace 192.0.2.2")
			if s := r.Stats(); s.Withheld != 1 || s.Intended != 1 {
				t.Errorf("stats %+v", s)
			}
		})
	})
	t.Run("proxy", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(time.Second)
			b, _ := running(t, f, Config{})
			time.Sleep(time.Second)
			b.put(proxied(block("192.0.2.1/32", in(time.Hour))))
			wantCalls(t, f, "0s replace", "1s replace 192.0.2.1")
		})
	})
}

// TestClockPutBack: a clock that goes back an hour changes nothing of the pace.
func TestClockPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Int64
		f := newFake(time.Second)
		blocks := func(now time.Time) iter.Seq[edgeguard.Block] {
			return slices.Values([]edgeguard.Block{block("192.0.2.1/32", now.Add(time.Minute))})
		}
		r, err := New(Config{Enforcer: f, Blocks: blocks, Now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }, Resync: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		go func() {
			time.Sleep(90 * time.Second)
			back.Store(int64(time.Hour))
			r.Refresh()
		}()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, f, "0s replace 192.0.2.1", "1m0s replace 192.0.2.1", "1m30s replace 192.0.2.1",
			"2m30s replace 192.0.2.1", "3m30s replace 192.0.2.1", "4m30s replace 192.0.2.1")
	})
}

func TestConfigOfRunner(t *testing.T) {
	blocks := func(time.Time) iter.Seq[edgeguard.Block] { return nil }
	for _, test := range []struct {
		c    Config
		want string
	}{
		{Config{Blocks: blocks, Now: time.Now}, "needs an enforcer"},
		{Config{Enforcer: newFake(0), Now: time.Now}, "needs the blocks"},
		{Config{Enforcer: newFake(0), Blocks: blocks}, "needs a clock"},
	} {
		if _, err := New(test.c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}
