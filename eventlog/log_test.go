package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const month = 30 * 24 * time.Hour

// opened returns a log in a folder.
func opened(t testing.TB, folder string, size int64, keep time.Duration) *Log {
	t.Helper()
	l := New(Config{Folder: folder, Bytes: size, Keep: keep})
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	return l
}

// found returns what a query finds, with bodies of its own.
func found(l *Log, q Query) (all []Entry) {
	for e := range l.Find(context.Background(), q) {
		e.Body = slices.Clone(e.Body)
		all = append(all, e)
	}
	return all
}

// twin is a list of all entries, looked through one by one.
type twin []Entry

func (t twin) find(q Query) (all []Entry) {
	for _, e := range t {
		if q.has(&e) {
			all = append(all, e)
		}
	}
	if q.Newest {
		slices.Reverse(all)
	}
	return all
}

var twinRules = []string{"", "login", "web/scripts", "site"}

// someEntry is an entry of few networks, so that queries find some.
func someEntry(r *rand.Rand, at time.Time) Entry {
	e := Entry{Time: at.Add(time.Duration(r.IntN(2000)-1000) * time.Millisecond), Kind: []string{"block", "end", "alarm"}[r.IntN(3)],
		Rule: twinRules[r.IntN(len(twinRules))], Body: fmt.Appendf(nil, "%0*d", r.IntN(300), r.IntN(1000))}
	for range r.IntN(3) {
		e.Prefixes = append(e.Prefixes, somePrefix(r))
	}
	return e
}

func somePrefix(r *rand.Rand) netip.Prefix {
	if r.IntN(3) == 0 {
		a := netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, byte(r.IntN(3)), 0, byte(r.IntN(4)), 15: byte(r.IntN(2))})
		return netip.PrefixFrom(a, []int{128, 64, 56, 32, 0}[r.IntN(5)]).Masked()
	}
	a := netip.AddrFrom4([4]byte{203, 0, byte(r.IntN(3)), byte(r.IntN(40))})
	return netip.PrefixFrom(a, []int{32, 32, 32, 24, 29, 0}[r.IntN(6)]).Masked()
}

func someQuery(r *rand.Rand, begin time.Time, span time.Duration, entries int) (q Query) {
	q.Newest = r.IntN(2) == 0
	if r.IntN(2) == 0 {
		q.Within = somePrefix(r)
	}
	if r.IntN(3) == 0 {
		q.Since = begin.Add(rand.N(span))
	}
	if r.IntN(3) == 0 {
		q.Until = begin.Add(rand.N(span))
	}
	if r.IntN(3) == 0 {
		q.Rule = twinRules[r.IntN(len(twinRules))]
	}
	if r.IntN(3) == 0 {
		q.Kinds = []string{"block", "alarm"}
	}
	if r.IntN(4) == 0 {
		q.After = uint64(r.IntN(entries))
	}
	if r.IntN(4) == 0 {
		q.Before = uint64(r.IntN(entries))
	}
	return q
}

// Whatever is asked, a log answers what a look through a list of all entries does: with
// sealed segments, with those that grow, with what waits, and after restarts and kills.
func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	folder := filepath.Join(t.TempDir(), "events")
	l, now := opened(t, folder, 2<<20, month), noon
	var all twin
	number := uint64(0)
	check := func(queries int) {
		t.Helper()
		for range queries {
			q := someQuery(r, noon, now.Sub(noon)+time.Second, int(number)+2)
			if got, want := found(l, q), all.find(q); !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v of %d: %d found, want %d", q, len(all), len(got), len(want))
			}
		}
	}
	for round := range 30 {
		for range r.IntN(150) {
			e := someEntry(r, now)
			to := Section(r.IntN(int(sections)))
			l.Add(to, e)
			number++
			e.Number = number
			all = append(all, e)
			now = now.Add(time.Duration(r.IntN(1000)) * time.Millisecond)
		}
		check(5)
		if err := l.Flush(now); err != nil {
			t.Fatal(err)
		}
		switch check(10); {
		case round%10 == 4: // a kill: nothing is closed
			l, number = opened(t, folder, 2<<20, month), number+mostUnwritten
			check(10)
		case round%10 == 9:
			if err := l.Close(now); err != nil {
				t.Fatal(err)
			}
			l, number = opened(t, folder, 2<<20, month), number+mostUnwritten
			check(10)
		}
	}
	sealed := 0
	for i := range l.sections {
		for _, s := range l.sections[i].segments {
			if s.sealed {
				sealed++
			}
		}
	}
	if sealed < 6 {
		t.Errorf("%d segments are sealed: too few to tell", sealed)
	}
}

// No flood of one section moves what another has, and none grows beyond its bytes.
func TestSectionsOfTheirOwn(t *testing.T) {
	const size = 2 << 20
	folder := filepath.Join(t.TempDir(), "events")
	l, now := opened(t, folder, size, month), noon
	for i := range 20 {
		l.Add(ByHand, Entry{Time: now, Kind: "change", Body: fmt.Append(nil, i)})
	}
	for range 60 {
		for range 10_000 {
			l.Add(Crossings, Entry{Time: now, Kind: "crossing", Rule: "site", Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.9/32")}, Body: make([]byte, 200)})
		}
		l.Add(Blocks, Entry{Time: now, Kind: "block"})
		now = now.Add(time.Second)
		if err := l.Flush(now); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(found(l, Query{Kinds: []string{"change"}})); n != 20 {
		t.Errorf("%d changes of 20", n)
	}
	if n := len(found(l, Query{Kinds: []string{"block"}})); n != 60 {
		t.Errorf("%d blocks of 60", n)
	}
	crossings := len(found(l, Query{Kinds: []string{"crossing"}}))
	if lost := l.Lost(); crossings == 0 || lost == 0 || l.Lost() != 0 {
		t.Errorf("%d crossings, %d lost", crossings, lost)
	}
	if onDisk := sizeOf(t, folder); onDisk > size || onDisk != l.Bytes() {
		t.Errorf("%d bytes on the disk, %d by its own count, want at most %d", onDisk, l.Bytes(), size)
	}
}

func sizeOf(t *testing.T, folder string) (n int64) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != fs.FileMode(0o600) {
			t.Errorf("%s has the mode %v", e.Name(), info.Mode())
		}
		n += info.Size()
	}
	return n
}

// What is older than its days goes, also where nothing comes any more, and the rest stays.
func TestDays(t *testing.T) {
	l, now := opened(t, filepath.Join(t.TempDir(), "events"), 1<<20, 24*time.Hour), noon
	l.Add(Blocks, Entry{Time: now, Kind: "block"})
	for range 20 {
		if err := l.Flush(now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	l.Add(Blocks, Entry{Time: now, Kind: "end"})
	if n := len(found(l, Query{})); n != 2 {
		t.Errorf("%d entries before the day is over", n)
	}
	now = flushedFor(t, l, now, 5*time.Hour)
	if got := found(l, Query{}); len(got) != 1 || got[0].Kind != "end" {
		t.Errorf("after a day: %+v", got)
	}
	flushedFor(t, l, now, 25*time.Hour) // it is sealed, and goes
	if got := found(l, Query{}); len(got) != 0 {
		t.Errorf("of an idle node: %+v", got)
	}
}

// flushedFor flushes a log each minute of a span, and returns its end.
func flushedFor(t *testing.T, l *Log, now time.Time, span time.Duration) time.Time {
	t.Helper()
	for end := now.Add(span); now.Before(end); {
		now = now.Add(time.Minute)
		if err := l.Flush(now); err != nil {
			t.Fatal(err)
		}
	}
	return now
}

// A clock that is far ahead for some minutes costs nothing, at a start as later.
func TestWrongClock(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "events")
	l, now := opened(t, folder, 16<<20, month), noon
	for day := range 20 {
		l.Add(Blocks, Entry{Time: now, Kind: fmt.Sprint(day)})
		flushedFor(t, l, now, time.Minute)
		now = now.Add(24 * time.Hour)
	}
	for range 3 {
		ahead := flushedFor(t, l, now.Add(400*24*time.Hour), 50*time.Minute)
		l.Add(Blocks, Entry{Time: ahead, Kind: "of the wrong clock"})
		now = flushedFor(t, l, now, 5*time.Minute)
		if err := l.Close(now); err != nil {
			t.Fatal(err)
		}
		l = opened(t, folder, 16<<20, month)
	}
	if got := kinds(l, Query{}); len(got) != 23 {
		t.Errorf("%d entries are left: %v", len(got), got)
	}
	flushedFor(t, l, now.Add(15*24*time.Hour), 2*time.Hour)
	if got := kinds(l, Query{}); len(got) >= 23 || len(got) < 15 {
		t.Errorf("what is older than its days: %d entries: %v", len(got), got)
	}
}

// In the least log that a config may ask for, as many bytes as may wait for the disk are a
// burst that is kept whole.
func TestBurstInTheLeastLog(t *testing.T) {
	for to := range sections {
		l, n := opened(t, filepath.Join(t.TempDir(), "events"), 16<<20, month), 0
		for ; l.Lost() == 0; n++ {
			l.Add(to, Entry{Time: noon, Kind: "change", Prefixes: someNetworks(1)})
		}
		for range 3 {
			if err := l.Flush(noon); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(found(l, Query{})); got != n-1 {
			t.Errorf("%s: %d of %d entries are left", sectionNames[to], got, n-1)
		}
	}
}

// A tail that was torn at any byte is cut, and what comes then is found behind it.
func TestTorn(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "events")
	l := opened(t, folder, 1<<20, month)
	for i := range 3 {
		l.Add(Blocks, Entry{Time: noon, Kind: "block", Body: fmt.Append(nil, i)})
	}
	if err := l.Flush(noon); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, segmentName(Blocks, 1))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	frame := (len(whole) - len(magic)) / 3
	for cut := range whole {
		for _, tail := range []string{"", "\x00\x00\x00", strings.Repeat("\xff", 40)} {
			if err := os.WriteFile(file, append(slices.Clone(whole[:cut]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			l := New(l.config)
			err := l.Open()
			if foreign := cut < len(magic) && cut+len(tail) >= len(magic); foreign != (err != nil) {
				t.Fatalf("cut at %d with %q: %v", cut, tail, err)
			}
			left := max(0, cut-len(magic)) / frame
			l.Add(Blocks, Entry{Time: noon, Kind: "end"})
			if err := l.Flush(noon); err != nil {
				t.Fatal(err)
			}
			if got := found(l, Query{}); len(got) != left+1 || got[left].Kind != "end" || got[left].Number != uint64(left+1+min(left, 1)*mostUnwritten) {
				t.Fatalf("cut at %d with %q: %+v", cut, tail, got)
			}
			if err := l.Close(noon); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(filepath.Join(folder, segmentName(Blocks, 2)))
		}
	}
}

// A segment that cannot be made or written costs nothing of what waits, and the error says
// so until it can.
func TestDiskThatRefuses(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "events")
	l := opened(t, folder, 1<<20, month)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	l.Add(Blocks, Entry{Time: noon, Kind: "block"})
	for range 3 {
		if err := l.Flush(noon); err == nil {
			t.Fatal("no error")
		}
		l.Add(Blocks, Entry{Time: noon, Kind: "end"})
	}
	if got := found(l, Query{}); len(got) != 4 || got[0].Kind != "block" {
		t.Errorf("%+v", got)
	}
	for range 100_000 {
		l.Add(Blocks, Entry{Time: noon, Body: make([]byte, 100)})
	}
	l.mu.Lock()
	waits := len(l.sections[Blocks].pending)
	l.mu.Unlock()
	if waits > mostPending[Blocks]+maxFrame || l.Lost() == 0 {
		t.Errorf("%d bytes wait", waits)
	}
}

// Without a folder the newest stay in memory, bounded.
func TestInMemory(t *testing.T) {
	l := New(Config{Bytes: 64 << 20, Keep: month})
	for i := range 100_000 {
		l.Add(ByHand, Entry{Time: noon, Kind: "change", Body: fmt.Appendf(nil, "%0100d", i)})
	}
	if err := l.Flush(noon); err != nil {
		t.Fatal(err)
	}
	all := found(l, Query{Newest: true})
	if len(all) < 1000 || all[0].Number != 100_000 {
		t.Errorf("%d entries", len(all))
	}
	if n := len(l.sections[ByHand].pending); n > mostPending[ByHand]+maxFrame || l.Lost() > 0 {
		t.Errorf("%d bytes", n)
	}
}

// A folder that cannot be had leaves the log in memory, with the newest in it.
func TestNoFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(Config{Folder: folder, Bytes: 1 << 24, Keep: month})
	if err := l.Open(); err == nil {
		t.Error("a file is taken for a folder")
	}
	for range 10_000 {
		l.Add(Blocks, Entry{Time: noon, Body: make([]byte, 200)})
	}
	if l.Flush(noon) == nil {
		t.Error("nothing tells that it is not written")
	}
	all := found(l, Query{Newest: true})
	if len(all) == 0 || all[0].Number != 10_000 || l.Lost() > 0 {
		t.Errorf("%d entries", len(all))
	}
	if err := os.Remove(folder); err != nil { // the next flush has the folder
		t.Fatal(err)
	}
	if err := errors.Join(l.Flush(noon), l.Close(noon)); err != nil {
		t.Fatal(err)
	}
	if n := len(found(opened(t, folder, 1<<24, month), Query{})); n != len(all) {
		t.Errorf("%d entries were written, want %d", n, len(all))
	}
}

// What was added before the log is open comes after what it had.
func TestAddedBeforeOpen(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "events")
	l := opened(t, folder, 1<<20, month)
	l.Add(ByHand, Entry{Time: noon, Kind: "first"})
	if err := l.Close(noon); err != nil {
		t.Fatal(err)
	}
	l = New(l.config)
	l.Add(ByHand, Entry{Time: noon, Kind: "second"})
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	l.Add(ByHand, Entry{Time: noon, Kind: "third"})
	got := found(l, Query{})
	if len(got) != 3 || got[0].Kind != "first" || got[1].Kind != "second" || got[1].Number != 2+mostUnwritten || got[2].Number != 3+mostUnwritten {
		t.Errorf("%+v", got)
	}
}

// Readers, writers and flushes at once: what was flushed before a look is in it, once and in
// order.
func TestTogether(t *testing.T) {
	l := opened(t, filepath.Join(t.TempDir(), "events"), 64<<20, month)
	done := make(chan bool)
	go func() {
		defer close(done)
		for i := range 3_000 {
			l.Add(Section(i%2), Entry{Time: noon, Body: make([]byte, 10)})
			if i%100 == 0 {
				if err := l.Flush(noon); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for last := uint64(0); ; {
		n, before := uint64(0), last
		for e := range l.Find(context.Background(), Query{}) {
			if n++; e.Number != n {
				t.Fatalf("entry %d stands at %d", e.Number, n)
			}
		}
		if last = n; last < before {
			t.Fatalf("%d after %d", last, before)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// Bytes that are no log, or one that was changed, give no entry that was not written and no
// panic.
func FuzzOpen(f *testing.F) {
	l := opened(f, filepath.Join(f.TempDir(), "events"), 1<<20, time.Hour)
	l.Add(Blocks, Entry{Time: noon, Kind: "block", Rule: "login", Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/64")}, Body: []byte("{}")})
	for range 2 { // the second seals it
		if err := l.Flush(noon.Add(time.Hour)); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(l.config.Folder, segmentName(Blocks, 1)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)-3])
	}
	f.Add([]byte(magic + "\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, segmentName(Blocks, 1)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		l := New(Config{Folder: folder, Bytes: 1 << 20, Keep: month})
		_ = l.Open() // it says what cannot be read
		for _, within := range []netip.Prefix{{}, netip.MustParsePrefix("203.0.113.9/32"), netip.MustParsePrefix("2001:db8::/32")} {
			for _, e := range found(l, Query{Within: within}) {
				var again []byte
				if again = appendFrame(again, &e); !strings.Contains(string(data), string(again)) {
					t.Fatalf("%+v was never written", e)
				}
			}
		}
		l.Add(Blocks, Entry{Time: noon, Kind: "more"})
		if err := l.Flush(noon); err != nil {
			t.Fatal(err)
		}
	})
}

// A query of one section finds what is in it alone.
func TestOneSection(t *testing.T) {
	l, now := opened(t, filepath.Join(t.TempDir(), "events"), 2<<20, month), noon
	for i := range 3 * int(sections) {
		l.Add(Section(i%int(sections)), Entry{Time: now, Kind: "block", Body: []byte{byte(i)}})
		if i == int(sections) {
			if err := l.Flush(now); err != nil {
				t.Fatal(err)
			}
		}
	}
	for e := range l.Find(t.Context(), Query{Sections: []Section{Crossings}}) {
		if e.Body[0]%byte(sections) != byte(Crossings) {
			t.Errorf("entry %d", e.Body[0])
		}
	}
	if n := len(found(l, Query{Sections: []Section{Crossings, ByHand}})); n != 6 {
		t.Errorf("%d of two sections", n)
	}
}
