package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/snapshot"
	"edgeguard/tuning"
)

var historyfileNoon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// historyAt is an empty history and its file.
func historyAt(folder string) *snapshot.SideFile[*tuning.History] {
	f := historySide(folder, new(tuning.History))
	return &f
}

// filled is a file with a history of half an hour.
func filled(t *testing.T) *snapshot.SideFile[*tuning.History] {
	f := historyAt(t.TempDir())
	m := tuning.Meter{Fingerprint: "site", Window: 5 * time.Minute}
	var counts tuning.Distribution
	counts.AddN(1901, 3)
	for now := historyfileNoon.Add(-30 * time.Minute); !now.After(historyfileNoon); now = now.Add(5 * time.Minute) {
		if due, ok := f.Kept.NextDue(now, []tuning.Meter{m}); ok {
			f.Kept.NoteCounts(now, due, &counts)
		}
	}
	return f
}

// What was saved is loaded on another clock.
func TestSaveAndLoad(t *testing.T) {
	f := filled(t)
	const ahead = 20 * time.Second
	if err := f.Save(snapshot.Cut{Taken: historyfileNoon, Offset: ahead}); err != nil {
		t.Fatal(err)
	}
	again := historyAt(filepath.Dir(f.Path))
	if err := again.Load(historyfileNoon.Add(ahead)); err != nil {
		t.Fatal(err)
	}
	count := 0
	for m, w := range again.Kept.AllWindows() {
		if m.Fingerprint != "site" || w.Counts.Above(1900) != 3 || w.At.Sub(historyfileNoon.Add(ahead))%(5*time.Minute) != 0 {
			t.Errorf("%v %+v", m, w)
		}
		count++
	}
	if count != 6 || again.Kept.Bytes() != f.Kept.Bytes() {
		t.Errorf("%d windows in %d bytes, before %d bytes", count, again.Kept.Bytes(), f.Kept.Bytes())
	}
}

// A file that is not there is empty, a damaged one is set aside, and of one with a
// distribution that cannot be the rest is used.
func TestLoadWhatIsWrong(t *testing.T) {
	f := filled(t)
	if err := historyAt(filepath.Dir(f.Path)).Load(historyfileNoon); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(f.Path, []byte("edgeguard snap\x01\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Load(historyfileNoon); err == nil || !strings.Contains(err.Error(), ".aside-1") {
		t.Errorf("a damaged file: %v", err)
	}
	w, err := snapshot.Create(f.Path, snapshot.Cut{Taken: historyfileNoon})
	if err != nil {
		t.Fatal(err)
	}
	w.Distribution(snapshot.Distribution{Fingerprint: "site", Window: 5 * time.Minute, At: historyfileNoon.Add(-5 * time.Minute), Form: []byte{99}})
	w.Distribution(snapshot.Distribution{Fingerprint: "site", Window: 5 * time.Minute, At: historyfileNoon, Form: nil})
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	again := historyAt(filepath.Dir(f.Path))
	if err := again.Load(historyfileNoon); err == nil || !strings.Contains(err.Error(), "left out") || again.Kept.Bytes() == 0 {
		t.Errorf("%v, and %d bytes", err, again.Kept.Bytes())
	}
}
