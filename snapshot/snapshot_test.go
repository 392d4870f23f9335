package snapshot

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard/ring"
)

// same compares states; prefixes and times are compared as values.
func same(t *testing.T, got, want *state) {
	t.Helper()
	opts := cmp.Options{
		cmp.AllowUnexported(state{}, meterState{}),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) }),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "cut" }, cmp.Ignore()),
	}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("want -, got +:\n%.4000s", diff)
	}
}

func TestRoundTrip(t *testing.T) {
	want := small()
	var got state
	l, err := LoadFile(small().save(t), noon, got.sink())
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range want.meters {
		for j := range m.windows {
			want.meters[i].windows[j].Head = slot(noon, m.Width) // none has left, but all have moved on
		}
	}
	same(t, &got, want)
	if l.Node != "edge-1" || !l.Taken.Equal(noon) || l.Windows != 5 || l.Blocks != 4 || l.Steps != 1 || l.Positions != 2 || l.Outdated+l.Skipped != 0 {
		t.Errorf("loaded %+v", l)
	}
}

// TestOracle loads random states at random times and compares every slot with
// a list of what was counted when.
func TestOracle(t *testing.T) {
	rng := seeded(t)
	for range 20 {
		saved := random(rng, 60)
		now := noon.Add(time.Duration(rng.Int64N(int64(7 * time.Minute)))).Add(-time.Minute)
		var got state
		l, err := LoadFile(saved.save(t), now, got.sink())
		if err != nil {
			t.Fatal(err)
		}
		outdated := 0
		for i, m := range saved.meters {
			var want []Window
			for _, w := range m.windows {
				if r, ok := obvious(w, slot(now, m.Width)); ok {
					want = append(want, r)
				} else {
					outdated++
				}
			}
			if !reflect.DeepEqual(got.meters[i].windows, want) {
				t.Fatalf("meter %d at %v: got %v, want %v", i, now, got.meters[i].windows, want)
			}
		}
		var blocks []Block
		for _, b := range saved.blocks {
			if b.Lifted || b.Until.After(now) {
				blocks = append(blocks, b)
			} else {
				outdated++
			}
		}
		saved.blocks, saved.meters, got.meters = blocks, nil, nil
		same(t, &got, saved)
		if l.Outdated != outdated {
			t.Errorf("%d outdated, want %d", l.Outdated, outdated)
		}
	}
}

// obvious is the window at now as a log of its slots gives it.
func obvious(w Window, now uint32) (Window, bool) {
	r := ring.New(w.Head, w.Counts)
	log := r.Snapshot(w.Head)
	out := Window{Prefix: w.Prefix, With: w.With, Head: now}
	var counted [ring.Slots]uint64
	for i, n := range log {
		s := min(w.Head-uint32(ring.Slots-1-i), now)
		if now-s < ring.Slots {
			counted[s%ring.Slots] += uint64(n)
		}
	}
	any := false
	for i, n := range counted {
		out.Counts[i] = uint16(min(n, ring.Max))
		any = any || n > 0
	}
	return out, any
}

// TestOffset: what was reckoned on a local clock is the epoch's in the file.
func TestOffset(t *testing.T) {
	local := small()
	local.cut.Offset = -time.Hour
	local.meters = local.meters[:1]
	local.blocks = local.blocks[:1]
	local.blocks[0].Since = time.Time{} // no time at all stays none
	var got state
	l, err := LoadFile(local.save(t), noon.Add(-time.Hour), got.sink())
	if err != nil {
		t.Fatal(err)
	}
	if !l.Taken.Equal(noon.Add(-time.Hour)) || l.Offset != 0 {
		t.Errorf("taken %v, offset %v", l.Taken, l.Offset)
	}
	w := got.meters[0].windows[0]
	r := ring.New(w.Head, w.Counts)
	if recent := r.Snapshot(slot(noon.Add(-time.Hour), 5)); recent[58] != 1900 || recent[59] != 1 {
		t.Errorf("got slots %v", recent)
	}
	if b := got.blocks[0]; !b.Until.Equal(noon.Add(time.Second-time.Hour)) || !b.Since.IsZero() {
		t.Errorf("got %+v", b)
	}
	if s := got.steps[0]; !s.Until.Equal(noon.Add(-2 * time.Hour)) {
		t.Errorf("got %+v", s)
	}
}

// TestExpiry loads 100,000 blocks of a minute at every second of it: none is
// enforced when it is over, none is missing before.
func TestExpiry(t *testing.T) {
	s := &state{cut: Cut{Taken: noon}}
	for i := range 100_000 {
		b := block("10.0.0.0/32", noon.Add(time.Duration(i)*600*time.Microsecond))
		b.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
		s.blocks = append(s.blocks, b)
	}
	data := s.bytes(t)
	for second := -1; second <= 61; second += 5 {
		now := noon.Add(time.Duration(second) * time.Second)
		want := 0
		for _, b := range s.blocks {
			if b.Until.After(now) {
				want++
			}
		}
		l, err := readTwice(bytes.NewReader(data), now, &Sink{Block: func(b *Block) {
			if !b.Until.After(now) {
				t.Fatalf("at %v got %v", now, b)
			}
		}})
		if err != nil || l.Blocks != want || l.Outdated != len(s.blocks)-want {
			t.Fatalf("at %v: %+v, %v; want %d blocks", now, l, err, want)
		}
	}
}

func TestMeterThatIsGone(t *testing.T) {
	calls := 0
	l, err := LoadFile(small().save(t), noon, Sink{Meter: func(m Meter) func(*Window) {
		if m.Width == 60 {
			return nil
		}
		return func(*Window) { calls++ }
	}})
	if err != nil || calls != 2 || l.Windows != 2 || l.Skipped != 3 || l.Blocks != 0 {
		t.Errorf("%d calls, %+v, %v", calls, l, err)
	}
}

// TestFullWindow: a key that came in every slot, as a steady offender does, is
// saved and loaded whole.
func TestFullWindow(t *testing.T) {
	const width = 5
	full := window("192.0.2.1/32", slot(noon, width))
	for i := range full.Counts {
		full.Counts[i] = uint16(1 + i)
	}
	full.Counts[slot(noon, width)%ring.Slots] = ring.Max
	want := &state{cut: Cut{Node: "edge-1", Taken: noon}, meters: []meterState{{Meter{"m", width}, []Window{full}}}}
	var got state
	if _, err := LoadFile(want.save(t), noon, got.sink()); err != nil {
		t.Fatal(err)
	}
	same(t, &got, want)
}

// TestExtremes: nothing that a caller may hold makes a file that cannot be
// read again.
func TestExtremes(t *testing.T) {
	s := &state{cut: Cut{Node: strings.Repeat("ä", maxText), Taken: noon}}
	b := block("192.0.2.1/32", time.Unix(1<<60, 0))
	b.Since, b.Version, b.Reason = time.Unix(-1<<60, 0), math.MaxUint64, strings.Repeat("ä", maxText)
	s.blocks = []Block{b}
	s.meters = []meterState{
		{Meter{"first", 5}, []Window{window("192.0.2.1/32", 0, 3), window("192.0.2.2/32", 10, 3)}},
		{Meter{"last", math.MaxUint32}, []Window{window("192.0.2.1/32", math.MaxUint32, 3)}},
	}
	var got state
	l, err := LoadFile(s.save(t), noon, got.sink())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.blocks) != 1 || len(got.blocks[0].Reason) != maxText || got.blocks[0].Until.Year() != 9999 || got.blocks[0].Version != math.MaxUint64 {
		t.Errorf("got %+v", got.blocks)
	}
	if l.Outdated != 2 || l.Windows != 1 {
		t.Errorf("loaded %+v", l)
	}
}

// TestWriterRefuses: what is no record fails the whole, and leaves the old
// file.
func TestWriterRefuses(t *testing.T) {
	for name, write := range map[string]func(w *Writer){
		"a zero prefix":  func(w *Writer) { w.Block(&Block{}) },
		"host bits":      func(w *Writer) { w.WriteStep(Step{Prefix: netip.MustParsePrefix("192.0.2.1/24")}) },
		"a mapped one":   func(w *Writer) { w.WriteStep(Step{Prefix: netip.MustParsePrefix("::ffff:192.0.2.1/128")}) },
		"a place of 5 K": func(w *Writer) { w.Position(Position{Place: make([]byte, maxText+1)}) },
	} {
		t.Run(name, func(t *testing.T) {
			path := small().save(t)
			w, err := Create(path, Cut{Taken: noon})
			if err != nil {
				t.Fatal(err)
			}
			write(w)
			if err := w.Commit(); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("Commit gave %v", err)
			}
			stands(t, path, small())
		})
	}
}

// stands checks that the file is that of the state, and alone in its folder.
func stands(t *testing.T, path string, want *state) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want.bytes(t)) {
		t.Errorf("not the file that was there: %v", err)
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("in the folder are %v", list)
	}
}

func TestFirstStart(t *testing.T) {
	for _, path := range []string{"state", "no/such/folder/state"} {
		if _, err := LoadFile(filepath.Join(t.TempDir(), path), noon, untouchable(t)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestFlatMemory: a window costs no allocation, neither way.
func TestFlatMemory(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "state"), Cut{Taken: noon})
	if err != nil {
		t.Fatal(err)
	}
	w.Meter(Meter{"m", 5})
	win := window("192.0.2.1/32", slot(noon, 5), 1, 2, 3)
	const each = 20_000 // several frames
	if n := testing.AllocsPerRun(3, func() {
		for range each {
			w.Window(&win)
		}
	}); n > 3 {
		t.Errorf("%v allocations for %d windows", n, each)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(3, func() {
		if l, err := readTwice(bytes.NewReader(data), noon, &Sink{Meter: func(Meter) func(*Window) { return func(*Window) {} }}); err != nil || l.Windows != 4*each {
			t.Fatal(l, err)
		}
	}); n > each/100 { // a few a frame
		t.Errorf("%v allocations to read %d windows", n, 4*each)
	}
}

// TestVersion1 holds the format: this file was written when meters had a flag that
// no node ever set.
func TestVersion1(t *testing.T) {
	// It is of a version that knew no counts' distributions.
	old, err := os.ReadFile("testdata/version1.state")
	if err != nil {
		t.Fatal(err)
	}
	want := small()
	want.evidence = nil // is in a file of its own
	want.distributions = nil
	if !bytes.Equal(want.bytes(t), old) {
		t.Error("the same state makes another file")
	}
	var got state
	s := got.sink()
	if _, err := readTwice(bytes.NewReader(old), noon, &s); err != nil {
		t.Fatal(err)
	}
	for i, m := range want.meters {
		for j := range m.windows {
			want.meters[i].windows[j].Head = slot(noon, m.Width)
		}
	}
	same(t, &got, want)
}
