package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
)

func marker() Marker {
	return Marker{
		Boot: "0123456789abcdef", Node: "edge-1", Namespace: "test", Ended: noon, Redis: noon.Add(time.Second),
		Snapshot: 1<<63 + 1, Since: map[uint64]uint32{1<<64 - 1: 400_000_000, 7: 0},
	}
}

// A marker is for one start: it is read once, as it was written.
func TestMarker(t *testing.T) {
	folder := t.TempDir()
	if _, err := ReadMarker(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a marker: %v", err)
	}
	if err := WriteMarker(folder, marker()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(folder, markerName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	got, err := ReadMarker(folder)
	if err != nil || len(got.Machine) != 64 || !filepath.IsAbs(got.Path) {
		t.Fatalf("%+v, %v", got, err)
	}
	got.Machine, got.Path = "", ""
	if want := marker(); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nwant %+v", got, want)
	}
	if _, err := ReadMarker(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read a second time: %v", err)
	}
	list, err := os.ReadDir(folder)
	if err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// Each byte of a marker that is cut off or changed, and each foreign file, is an
// error, and the file is gone after it: the next start reads it no more.
func TestMarkerDamaged(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, markerName)
	if err := WriteMarker(folder, marker()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, text []byte, want error) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := ReadMarker(folder); err == nil || (want != nil && !errors.Is(err, want)) {
			t.Errorf("%s: %+v, %v; want %v", what, m, err, want)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", what, err)
		}
	}
	for i := range whole {
		refused("cut short", whole[:i], nil)
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 1 << (i % 8)
		refused("with a flipped bit", flipped, nil)
	}
	refused("too long", append(whole, '\n'), errDamaged)
	refused("foreign", []byte("#!/bin/sh\n"), errForeign)
	refused("newer", []byte(strings.Replace(string(whole), "boot 1\n", "boot 2\n", 1)), errVersion)
}

// A marker that was copied to another folder, or to another machine, is refused.
func TestMarkerElsewhere(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	if err := WriteMarker(one, marker()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(one, markerName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, markerName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadMarker(other); !errors.Is(err, errForeign) {
		t.Errorf("in another folder: %v", err)
	}
	id := filepath.Join(other, "machine-id")
	defer func(was string) { machineID = was }(machineID)
	machineID = id // which does not exist: the host's name counts
	unnamed := machine()
	if err := os.WriteFile(id, []byte("b08dfa6083e7567a1921a715000001fb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if machine() == unnamed || strings.Contains(machine(), "b08d") {
		t.Errorf("the machine is named %s with and without its ID", machine())
	}
	if _, err := ReadMarker(one); !errors.Is(err, errForeign) {
		t.Errorf("on another machine: %v", err)
	}
}

// A folder that cannot be synced gives no marker, since a crash could bring it
// back; what is no file is never read.
func TestMarkerFaults(t *testing.T) {
	folder := t.TempDir()
	if err := WriteMarker(folder, marker()); err != nil {
		t.Fatal(err)
	}
	if m, err := readMarker(folder, func(*safepath.Place) error { return syscall.EIO }); !errors.Is(err, syscall.EIO) || m.Boot != "" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, at := range []atomicfile.Stage{atomicfile.BeforeWrite, atomicfile.BeforeSync, atomicfile.BeforeRename} {
		err := writeMarker(folder, marker(), func(s atomicfile.Stage) error {
			if s == at {
				return syscall.ENOSPC
			}
			return nil
		})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", at, err)
		}
		if _, err := ReadMarker(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after a fault at %s: %v", at, err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, markerName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadMarker(folder); err == nil {
		t.Error("a folder was read")
	}
	if err := WriteMarker(filepath.Join(folder, "no"), marker()); err == nil {
		t.Error("written to a folder that is not there")
	}
}

// Each reason for a new boot, and what is none.
func TestMarkerRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(m *Marker, l *Loaded, now *time.Time)
		want   string
	}{
		{"a clean restart", func(*Marker, *Loaded, *time.Time) {}, ""},
		{"at once", func(_ *Marker, _ *Loaded, now *time.Time) { *now = noon }, ""},
		{"just within the window", func(_ *Marker, _ *Loaded, now *time.Time) { *now = noon.Add(5*time.Minute - 1) }, ""},
		{"after a window", func(_ *Marker, _ *Loaded, now *time.Time) { *now = noon.Add(5 * time.Minute) }, "longer ago"},
		{"the clock went back", func(_ *Marker, _ *Loaded, now *time.Time) { *now = noon.Add(-1) }, "set back"},
		{"counts were moved", func(_ *Marker, l *Loaded, _ *time.Time) { l.Settled = 1 }, "other slots"},
		{"another state", func(_ *Marker, l *Loaded, _ *time.Time) { l.Sum++ }, "not the one"},
		{"no state", func(_ *Marker, l *Loaded, _ *time.Time) { *l = Loaded{} }, "not the one"},
		{"another name", func(m *Marker, _ *Loaded, _ *time.Time) { m.Node = "edge-2" }, `node "edge-2"`},
		{"another fleet", func(m *Marker, _ *Loaded, _ *time.Time) { m.Namespace = "b" }, `fleet "b"`},
	} {
		m, l, now := marker(), Loaded{Sum: 1<<63 + 1}, noon.Add(3*time.Second)
		test.change(&m, &l, &now)
		got := m.Refuses("edge-1", "test", &l, now, 5*time.Minute)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// The checksum that a reader sees is the one that was written, and differs for
// another state; counts that lie ahead are reported.
func TestLoadedSum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	save := func(s *state) uint64 {
		t.Helper()
		w, err := Create(path, s.cut)
		if err != nil {
			t.Fatal(err)
		}
		s.write(w)
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		return w.Checksum()
	}
	read := func(now time.Time) Loaded {
		t.Helper()
		var got state
		l, err := LoadFile(path, now, got.sink())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := save(small())
	if l := read(noon); l.Sum != first || first == 0 || l.Settled != 0 {
		t.Errorf("%+v, want the sum %d and nothing settled", l, first)
	}
	other := small()
	other.cut.Taken = noon.Add(time.Second)
	if second := save(other); second == first || read(noon.Add(time.Second)).Sum != second {
		t.Error("another state has the same sum")
	}
	// Back into the slots before noon, of 5 s and of a minute: one window of the
	// first meter and all three of the second have counts in noon's.
	if l := read(noon.Add(-time.Second)); l.Settled != 4 {
		t.Errorf("%d windows settled, want 4", l.Settled)
	}
}
