package names

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/enforce"
	"edgeguard/enforce/enforcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func entry(prefix string) enforce.Entry {
	return enforce.Entry{Prefix: netip.MustParsePrefix(prefix), Until: time.Now().Add(time.Hour)}
}

func entries(prefixes ...string) (all []enforce.Entry) {
	for _, p := range prefixes {
		all = append(all, entry(p))
	}
	return all
}

// folder makes a folder that others can reach, as one under /run is.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "edgeguard-names")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "names")
}

func opens(t testing.TB, path string) *Folder {
	f := New(Config{Path: path, Most: 1 << 20, Now: time.Now})
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// listed returns the files of a folder without the seed, sorted.
func listed(t testing.TB, path string) (files []string) {
	t.Helper()
	all, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Name() != seed {
			files = append(files, e.Name())
		}
	}
	return files
}

func wantFiles(t *testing.T, path string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := listed(t, path); !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
}

// isThere looks for an address as a proxy does.
func isThere(path string, a netip.Addr) bool {
	name := a.String()
	if a.Is6() {
		b := a.As16()
		name = fmt.Sprintf("%x:%x:%x:%x::", int(b[0])<<8|int(b[1]), int(b[2])<<8|int(b[3]), int(b[4])<<8|int(b[5]), int(b[6])<<8|int(b[7]))
	}
	_, err := os.Stat(filepath.Join(path, name))
	return err == nil
}

// beside is the list of what the folder cannot hold.
type beside struct {
	*Folder
	wide map[netip.Prefix]time.Time
}

func (b *beside) Replace(ctx context.Context, now time.Time, entries []enforce.Entry) error {
	clear(b.wide)
	b.put(entries)
	return b.Folder.Replace(ctx, now, entries)
}

func (b *beside) Apply(ctx context.Context, now time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	for _, p := range remove {
		delete(b.wide, p)
	}
	b.put(add)
	return b.Folder.Apply(ctx, now, add, remove)
}

func (b *beside) put(entries []enforce.Entry) {
	for _, e := range entries {
		if !Fits(e.Prefix) {
			b.wide[e.Prefix] = e.Until
		}
	}
}

func (b *beside) denied(_ *testing.T, a netip.Addr) bool {
	for p, until := range b.wide {
		if p.Contains(a) && time.Now().Before(until) {
			return true
		}
	}
	return isThere(b.config.Path, a)
}

// TestConformance: a folder with a list beside it is what every enforcer is.
func TestConformance(t *testing.T) {
	t.Parallel()
	b := &beside{wide: make(map[netip.Prefix]time.Time)}
	path := folder(t)
	enforcetest.Run(t, enforcetest.Bench{Rounds: 100, Denied: b.denied, New: func(t *testing.T) enforce.Enforcer {
		b.Folder = opens(t, path)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		watched := b.Folder
		go func() { defer close(done); watched.Watch(ctx, func() {}) }()
		t.Cleanup(func() { stop(); <-done })
		return &beside{Folder: b.Folder, wide: b.wide}
	}})
}

// TestOwners: names are those of the prefixes in force, whatever their changes were. The
// oracle asks each prefix, and counts nothing.
func TestOwners(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	now := time.Unix(1_800_000_000, 0)
	path := folder(t)
	f := New(Config{Path: path, Most: 1 << 20, Now: func() time.Time { return now }})
	defer func() { _ = f.Close() }()
	set := map[netip.Prefix]time.Time{}
	if err := f.Replace(t.Context(), now, nil); err != nil {
		t.Fatal(err)
	}
	for round := range 300 {
		now = now.Add(time.Second)
		var add []enforce.Entry
		var remove []netip.Prefix
		touched := map[netip.Prefix]bool{}
		for range dice.IntN(12) {
			p := randomPrefix(dice)
			if touched[p] {
				continue
			}
			touched[p] = true
			if dice.IntN(2) == 0 {
				remove = append(remove, p)
				delete(set, p)
			} else {
				set[p] = now.Add(time.Duration(1+dice.IntN(40)) * time.Second)
				add = append(add, enforce.Entry{Prefix: p, Until: set[p]})
			}
		}
		var err error
		if round%20 == 19 {
			err = f.Replace(t.Context(), now, parts(set, now, dice))
			set = map[netip.Prefix]time.Time{}
			for p, until := range f.names.set {
				set[p] = until
			}
		} else if err = f.Apply(t.Context(), now, add, remove); err == nil {
			err = f.change(t.Context(), nil, f.names.expire(now))
		}
		if err != nil {
			t.Fatal(err)
		}
		compareOwners(t, f, set, now)
	}
}

// parts is a whole list of which an allowance is cut out.
func parts(set map[netip.Prefix]time.Time, now time.Time, dice *rand.Rand) (all []enforce.Entry) {
	blocks := func(yield func(edgeguard.Block) bool) {
		for p, until := range set {
			if now.Before(until) && !yield(edgeguard.Block{Prefix: p, Until: until}) {
				return
			}
		}
	}
	seen := map[netip.Prefix]bool{}
	for b := range enforce.Around(blocks, []netip.Prefix{randomPrefix(dice)}) {
		if !seen[b.Prefix] {
			seen[b.Prefix] = true
			all = append(all, enforce.Entry{Prefix: b.Prefix, Until: b.Until})
		}
	}
	return all
}

func compareOwners(t *testing.T, f *Folder, set map[netip.Prefix]time.Time, now time.Time) {
	t.Helper()
	want := 0
	for p, until := range set {
		if !now.Before(until) {
			delete(set, p)
		}
	}
	blocked := func(a netip.Addr) bool {
		for p := range set {
			if p.Contains(a) && (a.Is4() && p.Bits() >= 24 || a.Is6() && p.Bits() >= 56 && p.Bits() <= 64) {
				return true
			}
		}
		return false
	}
	for i := range 1024 {
		for _, a := range []netip.Addr{
			netip.AddrFrom4([4]byte{203, 0, byte(112 + i>>8), byte(i)}),
			netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 6: byte(i >> 8), 7: byte(i)}),
		} {
			is := blocked(a)
			if is {
				want++
			}
			if isThere(f.config.Path, a) != is {
				t.Fatalf("%s: blocked %v, and its name says otherwise", a, is)
			}
		}
	}
	if got := len(listed(t, f.config.Path)); got != want || got != len(f.names.owners) {
		t.Fatalf("%d names, want %d", got, want)
	}
}

// randomPrefix is one of few, so that they meet and lie in each other.
func randomPrefix(dice *rand.Rand) netip.Prefix {
	if dice.IntN(2) == 0 {
		a := netip.AddrFrom4([4]byte{203, 0, 113, byte(dice.IntN(32))})
		return netip.PrefixFrom(a, 22+dice.IntN(11)).Masked()
	}
	a := [16]byte{0x20, 0x01, 0x0d, 0xb8, 7: byte(dice.IntN(32)), 15: byte(dice.IntN(3))}
	return netip.PrefixFrom(netip.AddrFrom16(a), 54+dice.IntN(14)).Masked()
}

func TestFits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"203.0.113.7/32": true, "203.0.113.0/24": true, "203.0.112.0/23": false, "2001:db8::/64": true, "2001:db8::/56": true,
		"2001:db8::/55": false, "2001:db8::/65": false, "2001:db8::1/128": false, "::1:0:0:0:0/64": false, "64:ff9b::/64": true,
	} {
		if got := Fits(netip.MustParsePrefix(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, text := range []string{"203.0.113.7", "2001:db8:0:1::", "ffff:ffff:ffff:ffff::", "1:0:0:0::"} {
		if n, ok := parseName(text); !ok || n.String() != text {
			t.Errorf("%s is read as %s, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", seed, "2001:db8::", "2001:DB8:0:1::", "2001:db8:0:1::1", "::ffff:203.0.113.7", "fe80:0:0:1::%eth0", "notes.txt", "203.0.113.07"} {
		if n, ok := parseName(text); ok {
			t.Errorf("%s is read as %s", text, n)
		}
	}
}

// TestRightedAtStart: what an earlier run, or somebody else, left in the folder is put right:
// names that are too many, too few, links and folders in the place of a name. What is no
// name stays.
func TestRightedAtStart(t *testing.T) {
	t.Parallel()
	path := folder(t)
	f := opens(t, path)
	if err := f.Replace(t.Context(), time.Now(), entries("203.0.113.7/32", "203.0.113.8/32", "203.0.113.9/32", "2001:db8:1::/64")); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	wantFiles(t, path, "203.0.113.7", "203.0.113.8", "203.0.113.9", "2001:db8:1:0::")
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(path, name) }
	must(os.Remove(in("203.0.113.7")))
	must(os.Remove(in("203.0.113.8")))
	must(os.Symlink("/nowhere", in("203.0.113.8")))
	must(os.Symlink("/etc/passwd", in("198.51.100.1")))
	must(os.Mkdir(in("203.0.113.10"), 0o755))
	must(os.WriteFile(in("198.51.100.2"), nil, 0o644))
	must(os.WriteFile(in("README"), nil, 0o644))
	f = opens(t, path)
	must(f.Replace(t.Context(), time.Now(), entries("203.0.113.7/32", "203.0.113.8/32", "203.0.113.10/32")))
	wantFiles(t, path, "203.0.113.7", "203.0.113.8", "203.0.113.10", "README")
	must(os.MkdirAll(in("198.51.100.9/full"), 0o755))
	if err := f.Replace(t.Context(), time.Now(), entries("203.0.113.11/32")); err == nil || !strings.Contains(err.Error(), "198.51.100.9") {
		t.Errorf("a folder that cannot be removed: %v", err)
	}
	wantFiles(t, path, "198.51.100.9", "203.0.113.11", "README")
	must(os.RemoveAll(in("198.51.100.9")))
	must(f.Replace(t.Context(), time.Now(), entries("203.0.113.7/32", "203.0.113.8/32", "203.0.113.10/32")))
	for _, name := range []string{"203.0.113.7", "203.0.113.8", "203.0.113.10"} {
		if info, err := os.Lstat(in(name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestFolderGoes: a folder that somebody removes, or replaces, is an error at the next
// change at the latest, and made again with the next whole list.
func TestFolderGoes(t *testing.T) {
	t.Parallel()
	path := folder(t)
	f := opens(t, path)
	list := entries("203.0.113.7/32")
	if err := f.Replace(t.Context(), time.Now(), list); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Apply(t.Context(), time.Now(), entries("203.0.113.8/32"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a change in a folder that is gone: %v", err)
	}
	if err := f.Replace(t.Context(), time.Now(), list); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, path, "203.0.113.7")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(t.Context(), time.Now(), list); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, path, "203.0.113.7")
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(t.Context(), time.Now(), list); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder whose parent is gone: %v", err)
	}
	if err := f.Apply(t.Context(), time.Now(), list, nil); err == nil {
		t.Error("a change without a folder is no error")
	}
}

// TestUnreachable: names that the proxy's user cannot look for are in nobody's way.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	path := folder(t)
	f := opens(t, path)
	for _, closed := range []string{path, filepath.Dir(path)} {
		if err := f.Replace(t.Context(), time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(closed, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := f.Replace(t.Context(), time.Now(), nil); err == nil || !strings.Contains(err.Error(), "chmod o+x "+closed) {
			t.Errorf("%s with mode 0750: %v", closed, err)
		}
		if err := os.Chmod(closed, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(t.Context(), time.Now(), nil); err == nil || !strings.Contains(err.Error(), "world-writable") {
		t.Errorf("a folder that everybody may write: %v", err)
	}
}

// TestRoom: what has no room is left out and counted, single addresses come first, and
// what ends makes room for the next whole list.
func TestRoom(t *testing.T) {
	t.Parallel()
	path := folder(t)
	f := New(Config{Path: path, Most: 258, Now: time.Now})
	defer func() { _ = f.Close() }()
	list := entries("198.51.100.0/24", "203.0.113.0/24", "203.0.113.7/32", "203.0.114.1/32", "203.0.114.2/32")
	if err := f.Replace(t.Context(), time.Now(), list); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, path, "203.0.113.7", "203.0.114.1", "203.0.114.2")
	f.mu.Lock() // as during a change of the whole folder, for which no decision waits
	refuses := f.Refuses()
	f.mu.Unlock()
	if f.Left() != 2 || refuses(list[0].Prefix) || !refuses(list[2].Prefix) || refuses(netip.MustParsePrefix("198.0.0.0/8")) {
		t.Errorf("%d are left out", f.Left())
	}
	if err := f.Apply(t.Context(), time.Now(), nil, []netip.Prefix{list[1].Prefix, list[2].Prefix}); err != nil || f.Left() != 1 {
		t.Fatalf("%v, %d left out", err, f.Left())
	}
	if err := f.Replace(t.Context(), time.Now(), []enforce.Entry{list[0], list[3], list[4]}); err != nil {
		t.Fatal(err)
	}
	if got := len(listed(t, path)); got != 258 || f.Left() != 0 {
		t.Errorf("%d names, %d left out", got, f.Left())
	}
}

// TestClear: a folder is emptied when nobody keeps it, and only if it is edgeguard's.
func TestClear(t *testing.T) {
	t.Parallel()
	path := folder(t)
	if err := Clear(t.Context(), path, false); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
	f := opens(t, path)
	if err := f.Replace(t.Context(), time.Now(), entries("203.0.113.0/24")); err != nil {
		t.Fatal(err)
	}
	if err := Clear(t.Context(), path, false); !errors.Is(err, enforce.ErrInUse) {
		t.Errorf("a folder that is kept: %v", err)
	}
	if err := Clear(t.Context(), path, true); err != nil {
		t.Error(err)
	}
	wantFiles(t, path)
	if err := f.Replace(t.Context(), time.Now(), entries("203.0.113.0/24")); err != nil { // who keeps it goes on
		t.Fatal(err)
	}
	_ = f.Close()
	if err := Clear(t.Context(), path, false); err != nil {
		t.Error(err)
	}
	wantFiles(t, path)
	if err := os.WriteFile(filepath.Join(path, "203.0.113.7"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Clear(t.Context(), path, false); !errors.Is(err, enforce.ErrNotOurs) {
		t.Errorf("somebody else's folder: %v", err)
	}
	wantFiles(t, path, "203.0.113.7")
}

// Who has what finds no room is told when that changes, and asks while it does.
func TestLeftOutIsTold(t *testing.T) {
	told := 0
	var f *Folder
	f = New(Config{Path: folder(t), Most: 2, Now: time.Now, LeftOut: func() { told += f.Left() + 1 }})
	t.Cleanup(func() { _ = f.Close() })
	replace := func(prefixes ...string) error { return f.Replace(t.Context(), time.Now(), entries(prefixes...)) }
	apply := func(add []enforce.Entry, remove ...netip.Prefix) error {
		return f.Apply(t.Context(), time.Now(), add, remove)
	}
	one, three := netip.MustParsePrefix("203.0.113.1/32"), netip.MustParsePrefix("203.0.113.3/32")
	for i, step := range []struct {
		do   func() error
		told int // one more than are left out
	}{
		{func() error { return replace("203.0.113.1/32", "203.0.113.2/32") }, 0},
		{func() error { return apply(entries("203.0.113.3/32")) }, 2},
		{func() error { return apply(entries("203.0.113.3/32")) }, 0},
		{func() error { return replace("203.0.113.1/32", "203.0.113.2/32", "203.0.113.3/32") }, 0},
		{func() error { return apply(nil, one) }, 0},
		{func() error { return apply(entries("203.0.113.3/32")) }, 1},
		{func() error { return replace("203.0.113.1/32", "203.0.113.2/32", "203.0.113.3/32") }, 2},
		{func() error { return apply(nil, three) }, 1},
	} {
		told = 0
		if err := step.do(); err != nil || told != step.told {
			t.Errorf("step %d: told %d, want %d: %v", i, told, step.told, err)
		}
	}
}

// BenchmarkFolder is what 100,000 names take: to fill the folder, to compare it with what is in
// force, and one change among them.
func BenchmarkFolder(b *testing.B) {
	var list []enforce.Entry
	for i := range 100_000 {
		a := netip.AddrFrom4([4]byte{100, byte(i >> 16), byte(i >> 8), byte(i)})
		list = append(list, enforce.Entry{Prefix: netip.PrefixFrom(a, 32), Until: time.Now().Add(time.Hour)})
	}
	path := folder(b)
	f := opens(b, path)
	replace := func(list []enforce.Entry) {
		if err := f.Replace(b.Context(), time.Now(), list); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("fill", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			replace(nil)
			b.StartTimer()
			replace(list)
		}
		inMs(b)
	})
	replace(nil)
	empty := inUse()
	replace(list)
	held := inUse() - empty
	b.Run("compare", func(b *testing.B) {
		for b.Loop() {
			replace(list)
		}
		inMs(b)
		b.ReportMetric(held/(1<<20), "held-MiB")
	})
	b.Run("change of a full one", func(b *testing.B) {
		full := New(Config{Path: folder(b), Most: 1, Now: time.Now})
		defer func() { _ = full.Close() }()
		if err := full.Replace(b.Context(), time.Now(), list); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := full.Apply(b.Context(), time.Now(), list[:1], nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("change", func(b *testing.B) {
		one := entries("203.0.113.7/32")
		for b.Loop() {
			if err := errors.Join(f.Apply(b.Context(), time.Now(), one, nil), f.Apply(b.Context(), time.Now(), nil, []netip.Prefix{one[0].Prefix})); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func inMs(b *testing.B) { b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms") }

// inUse is how many bytes of the heap are in use.
func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
