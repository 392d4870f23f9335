package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// TestEvidenceFile: what is saved is loaded, in its order, by the wall clock.
func TestEvidenceFile(t *testing.T) {
	rng, path := seeded(t), filepath.Join(t.TempDir(), "node.evidence")
	take := func(into *[]edgeguard.Evidence) func(*edgeguard.Evidence) {
		return func(e *edgeguard.Evidence) { *into = append(*into, *e) }
	}
	var got []edgeguard.Evidence
	if err := LoadEvidence(path, noon, take(&got)); err != nil || got != nil {
		t.Fatalf("without a file: %v, %v", got, err)
	}
	var want []edgeguard.Evidence
	for range 1000 {
		want = append(want, randomEvidence(rng))
	}
	cut := Cut{Node: "edge-1", Taken: noon.Add(-time.Hour), Offset: time.Hour}
	if err := SaveEvidence(path, cut, slices.Values(want)); err != nil {
		t.Fatal(err)
	}
	if err := LoadEvidence(path, noon, take(&got)); err != nil {
		t.Fatal(err)
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
	if err := LoadEvidence(path, noon, nil); !errors.Is(err, errForeign) || !strings.Contains(err.Error(), path+".aside-1") {
		t.Errorf("a file of something else: %v", err)
	}
	if err := SaveEvidence(filepath.Join(path, "no", "folder"), cut, slices.Values(want)); err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("where there is no folder: %v", err)
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
