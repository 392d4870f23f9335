package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// What is saved beside a state is loaded, in its order, by the wall clock, and is written
// again only after a change.
func TestSideFile(t *testing.T) {
	rng, path := seeded(t), filepath.Join(t.TempDir(), "node.evidence")
	changes := uint64(1)
	side := func(path string, kept *[]edgeguard.Evidence) *SideFile[*[]edgeguard.Evidence] {
		return &SideFile[*[]edgeguard.Evidence]{
			Path: path, Kept: kept, Changes: func() uint64 { return changes },
			Write: func(w *Writer, _ time.Time) {
				for i := range *kept {
					w.Evidence(&(*kept)[i])
				}
			},
			Restore: func(_ time.Time, load func(Sink) error) error {
				return load(Sink{Evidence: func(e *edgeguard.Evidence) { *kept = append(*kept, *e) }})
			},
		}
	}
	var got, want []edgeguard.Evidence
	if err := side(path, &got).Load(noon); err != nil || got != nil {
		t.Fatalf("without a file: %v, %v", got, err)
	}
	for range 1000 {
		want = append(want, randomEvidence(rng))
	}
	cut, saved := Cut{Node: "edge-1", Taken: noon.Add(-time.Hour), Offset: time.Hour}, side(path, &want)
	for _, written := range []bool{true, false, true} {
		if err := saved.Save(cut); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != written {
			t.Fatalf("written: %v, want %v", err, written)
		}
		if !written {
			changes++
			continue
		}
		got = nil
		if err := side(path, &got).Load(noon); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want {
		want[i].Since, want[i].Until = want[i].Since.Add(time.Hour), want[i].Until.Add(time.Hour)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("another one came back")
	}
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := side(path, &got).Load(noon); !errors.Is(err, errForeign) || !strings.Contains(err.Error(), path+".aside-1") {
		t.Errorf("a file of something else: %v", err)
	}
	nowhere := side(filepath.Join(path, "no", "folder"), &want)
	for range 2 { // what could not be written is tried again
		if err := nowhere.Save(cut); err == nil || errors.Is(err, fs.ErrExist) {
			t.Errorf("where there is no folder: %v", err)
		}
	}
}

// TestLongestEvidence: a record of the longest texts fits in a frame.
func TestLongestEvidence(t *testing.T) {
	e := grounds("2001:db8::/64", maxParts+9)
	e.Rule, e.Node, e.With = strings.Repeat("r", 9000), strings.Repeat("n", 9000), strings.Repeat("w", 9000)
	for i := range e.Slots {
		e.Slots[i] = 65535
	}
	for i := range e.Split {
		e.Split[i] = edgeguard.Part{Node: strings.Repeat("p", 9000), Count: 1<<32 - 1}
	}
	var enc encoder
	if enc.evidence(&e, 0); enc.err != nil || len(enc.buf) > maxRecord {
		t.Fatalf("%d bytes, %v", len(enc.buf), enc.err)
	}
	var back edgeguard.Evidence
	d := decoder{rest: enc.buf}
	if d.evidence(&back); d.err != nil || len(d.rest) > 0 || len(back.Split) != maxParts || len(back.With) != maxWith {
		t.Errorf("%v, %d left, %d parts", d.err, len(d.rest), len(back.Split))
	}
}
