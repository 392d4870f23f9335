package eventlog

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kinds returns the kinds of what a log has, in order.
func kinds(l *Log, q Query) (all []string) {
	for _, e := range found(l, q) {
		all = append(all, e.Kind)
	}
	return all
}

// sealedRow makes a folder with three sealed segments of the blocks and one that grows, each
// of the kinds "<segment>.<i>", and returns the folder, the files and the kinds.
func sealedRow(t *testing.T) (folder string, files, want []string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "events")
	l := opened(t, folder, 1<<20, month)
	for segment := 1; segment <= 4; segment++ {
		for i := range []int{40, 32, 36, 10}[segment-1] {
			want = append(want, fmt.Sprintf("%d.%d", segment, i))
			l.Add(Blocks, Entry{Time: noon, Kind: want[len(want)-1], Prefixes: someNetworks(i), Body: make([]byte, 1500)})
		}
		if err := l.Flush(noon); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(folder, segmentName(Blocks, uint64(segment))))
	}
	if err := l.Close(noon); err != nil {
		t.Fatal(err)
	}
	return folder, files, want
}

// A segment before the last whose index is missing (the disk refused it) or broken costs
// neither its own entries nor those of another, and what comes then is found after restarts.
func TestUnsealedBeforeSealed(t *testing.T) {
	for _, broken := range [][]int{{0}, {1}, {2}, {0, 2}, {0, 1, 2}} {
		folder, files, want := sealedRow(t)
		for _, i := range broken {
			flip(t, files[i], -3)
		}
		for run := range 3 {
			l := opened(t, folder, 1<<20, month)
			for _, q := range []Query{{}, {Before: 1 << 40}} {
				if got := kinds(l, q); !slices.Equal(got, want) {
					t.Fatalf("%v broken, run %d: %d entries, want %d: %v", broken, run, len(got), len(want), got)
				}
			}
			want = append(want, fmt.Sprint("run ", run))
			l.Add(Blocks, Entry{Time: noon, Kind: want[len(want)-1]})
			if err := l.Close(noon); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// flip changes a byte of a file, counted from its end if it is negative.
func flip(t *testing.T, file string, at int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(text)
	}
	text[at] ^= 0x40
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What stands under a segment's name and cannot be read stays as it is until it is the oldest
// of a full section, and does not keep the log from being written.
func TestForeignSegmentStays(t *testing.T) {
	for name, number := range map[string]uint64{"first": 1, "next": 2} {
		folder := filepath.Join(t.TempDir(), "events")
		l := opened(t, folder, 1<<20, month)
		if number > 1 {
			l.Add(Blocks, Entry{Time: noon, Kind: "old", Body: make([]byte, MaxBody)})
		}
		if err := l.Close(noon); err != nil {
			t.Fatal(err)
		}
		foreign, later := filepath.Join(folder, segmentName(Blocks, number)), strings.Repeat("egevent2", 100)
		if err := os.WriteFile(foreign, []byte(later), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(folder, segmentName(ByHand, 1)), 0o700); err != nil {
			t.Fatal(err)
		}
		l = New(l.config)
		if err := l.Open(); err == nil {
			t.Error(name, ": no error")
		}
		for _, kind := range []string{"new", "newer"} {
			l.Add(Blocks, Entry{Time: noon, Kind: kind, Body: make([]byte, MaxBody)})
			l.Add(ByHand, Entry{Time: noon, Kind: kind})
			if err := l.Flush(noon); err != nil {
				t.Error(name, err)
			}
		}
		if text, _ := os.ReadFile(foreign); string(text) != later {
			t.Errorf("%s: the file of another version has %d bytes", name, len(text))
		}
		if got := kinds(l, Query{}); !slices.Equal(got[len(got)-4:], []string{"new", "new", "newer", "newer"}) {
			t.Error(name, got)
		}
		if err := os.Remove(filepath.Join(folder, segmentName(ByHand, 1))); err != nil {
			t.Fatal(err)
		}
		if want := sizeOf(t, folder); l.Bytes() != want {
			t.Errorf("%s: %d bytes of %d are counted", name, l.Bytes(), want)
		}
		for range 600 { // the section is full
			l.Add(Blocks, Entry{Time: noon, Kind: "newest", Body: make([]byte, MaxBody/10)})
			if err := l.Flush(noon); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(foreign); !os.IsNotExist(err) {
			t.Errorf("%s: the file of another version stays for ever: %v", name, err)
		}
		if err := l.Close(noon); err != nil {
			t.Fatal(err)
		}
	}
}

// A flipped byte costs the entry that it is in, also where the segment is not sealed.
func TestFlippedByte(t *testing.T) {
	folder, files, want := sealedRow(t)
	flip(t, files[1], len(magic)+3*1000) // in a body
	flip(t, files[3], len(magic)+3*1000)
	lost := func(kind string) bool { return kind == "2.1" || kind == "4.1" }
	want = slices.DeleteFunc(want, lost)
	for range 2 {
		l := opened(t, folder, 1<<20, month)
		if got := kinds(l, Query{}); !slices.Equal(got, want) {
			t.Errorf("%d entries, want %d: %v", len(got), len(want), got)
		}
		if err := l.Close(noon); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that was killed had numbered what it had not written: a reader that goes on
// behind such a number misses nothing of the next run.
func TestNumbersAfterAKill(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "events")
	l := opened(t, folder, 1<<20, month)
	l.Add(Blocks, Entry{Time: noon, Kind: "written"})
	if err := l.Flush(noon); err != nil {
		t.Fatal(err)
	}
	for l.Lost() == 0 {
		l.Add(Blocks, Entry{Time: noon, Kind: "lost"})
	}
	seen := l.Newest()
	l = opened(t, folder, 1<<20, month)
	l.Add(Blocks, Entry{Time: noon, Kind: "new"})
	if got := found(l, Query{After: seen}); len(got) != 1 || got[0].Kind != "new" {
		t.Errorf("behind %d: %+v", seen, got)
	}
}

// A reader that goes on behind a number misses something only where entries behind it were
// removed, in this run or in one before, or where its numbers are not of this log.
func TestWhole(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "events")
	l := opened(t, folder, 1<<20, month)
	check := func(when string, want map[uint64]bool) {
		t.Helper()
		for number, whole := range want {
			if l.Whole(number) != whole {
				t.Errorf("%s: behind %d: %v", when, number, !whole)
			}
		}
	}
	check("empty", map[uint64]bool{0: true, 1: false})
	number := uint64(0)
	for range 200 {
		if number = l.Add(Blocks, Entry{Time: noon, Body: make([]byte, MaxBody/10)}); number%5 > 0 {
			continue
		}
		if err := l.Flush(noon); err != nil {
			t.Fatal(err)
		}
	}
	first := found(l, Query{})[0].Number
	want := map[uint64]bool{0: false, first - 2: false, first - 1: true, number: true, number + 1: false}
	check("some were removed", want)
	if err := l.Close(noon); err != nil {
		t.Fatal(err)
	}
	l = opened(t, folder, 1<<20, month)
	delete(want, number+1)
	check("the next run", want)

	l = New(Config{})
	for l.Whole(0) {
		number = l.Add(ByHand, Entry{Time: noon, Body: make([]byte, 1000)})
	}
	first = found(l, Query{})[0].Number
	check("in memory", map[uint64]bool{first - 2: false, first - 1: true, number: true})

	l = New(Config{Behind: 1000})
	l.Add(ByHand, Entry{Time: noon})
	check("another run in memory", map[uint64]bool{0: true, 5: false, 999: false, 1000: true, 1001: true, 1002: false})
	folder = filepath.Join(t.TempDir(), "a", "events") // is made later
	for behind := uint64(1000); behind < 1e9; behind *= 1000 {
		l = New(Config{Folder: folder, Bytes: 64 << 20, Keep: month, Behind: behind})
		if err := l.Open(); (err == nil) != (behind > 1000) {
			t.Fatal(err)
		}
		for l.Whole(0) && behind == 1000 {
			l.Add(ByHand, Entry{Time: noon, Body: make([]byte, 1000)})
		}
		_ = os.Mkdir(filepath.Dir(folder), 0o700)
		if err := l.Flush(noon); err != nil {
			t.Fatal(err)
		}
	}
	all := found(l, Query{})
	first, number = all[0].Number, all[len(all)-1].Number
	check("of a folder that came later", map[uint64]bool{0: true, 5: false, first - 2: false, first - 1: true, number: true, 1e6 + 1<<20: false})
}

// Bytes without end are a log without end.
func TestMostBytes(t *testing.T) {
	c := Config{Bytes: 1<<63 - 1}
	for r := range sections {
		if n := c.sectionBytes(r); n < 1<<59 {
			t.Errorf("%s: %d", sectionNames[r], n)
		}
	}
}

func someNetworks(i int) []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), 32)}
}
