package node

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/snapshot"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func fileIn(path string) *snapshot.SideFile[*watch.Ring[admin.Audit]] {
	f := auditSide(filepath.Dir(path), new(watch.Ring[admin.Audit]))
	return &f
}

func allOf(f *snapshot.SideFile[*watch.Ring[admin.Audit]]) []admin.Audit {
	all, _ := f.Kept.Page(0, 2*watch.MostRecent)
	return all
}

// The next run reads what this one saved, of more than a thousand the last, and what
// it adds itself comes after it.
func TestSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), auditFileName)
	f := fileIn(path)
	for _, actions := range []int{0, 1, 5, 990, 1300} {
		for i := range actions {
			f.Kept.Add(admin.Audit{Time: noon.Add(time.Duration(i) * time.Second), Who: "uid 0, pid 7", User: "anna", Role: "operator", Way: "socket", Action: "unblock", Target: "203.0.113.7/32", Detail: "\"<b>\u2028", Result: "ok"})
		}
		if err := f.Save(snapshot.Cut{Node: "n1", Taken: noon}); err != nil {
			t.Fatal(err)
		}
		again := fileIn(path)
		if err := again.Load(noon); err != nil {
			t.Fatal(err)
		}
		if got, want := allOf(again), allOf(f); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d are read, want %d", len(got), len(want))
		}
		early := fileIn(path)
		early.Kept.Add(admin.Audit{Action: "end overlay"})
		if err := early.Load(noon); err != nil {
			t.Fatal(err)
		}
		if got, want := allOf(early), allOf(f); got[0].Action != "end overlay" || !reflect.DeepEqual(got[1:], want[:min(len(want), watch.MostRecent-1)]) {
			t.Fatalf("what was added before is not the newest of %d", len(got))
		}
	}
}

// A file is written when there is something new, and not at each save of the state.
func TestSavedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), auditFileName)
	f := fileIn(path)
	save := func() (written bool) {
		t.Helper()
		_ = os.Remove(path)
		if err := f.Save(snapshot.Cut{Node: "n1", Taken: noon}); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(path)
		return err == nil
	}
	if save() {
		t.Error("nothing was written")
	}
	f.Kept.Add(admin.Audit{Action: "reload"})
	if !save() || save() {
		t.Error("one action is written once")
	}
	if f.Path = ""; save() {
		t.Error("written without a place")
	}
}

// The worst that somebody can have audited neither stops the file nor makes it long:
// his texts are cut.
func TestLongTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), auditFileName)
	f := fileIn(path)
	long := strings.Repeat("\x00\xff\u2028<é", 2_000)
	for range 20 {
		f.Kept.Add(admin.Audit{Time: noon, Who: long, User: long, Role: "operator", Way: "proxy", Action: "block", Target: long, Detail: long, Result: long})
	}
	if err := f.Save(snapshot.Cut{Node: "n1", Taken: noon}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 21*snapshot.MaxNote {
		t.Fatalf("%v, %v", info, err)
	}
	again := fileIn(path)
	if err := again.Load(noon); err != nil || len(allOf(again)) != 20 || allOf(again)[0].Action != "block" || allOf(again)[0].Result == "" {
		t.Errorf("%v, %d are read", err, len(allOf(again)))
	}
}

// A file that is torn is set aside, with an error that says so.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), auditFileName)
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := fileIn(path)
	if err := f.Load(noon); err == nil || !strings.Contains(err.Error(), ".aside-1") || len(allOf(f)) > 0 {
		t.Errorf("%v", err)
	}
}
