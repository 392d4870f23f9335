package snapshot

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What is renamed is named for seven days from then on, however old it is; what was not
// renamed by SetAside is not.
func TestAsides(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "node.state")
	for _, name := range []string{path, path + ".aside-10", path + ".aside-1x", filepath.Join(folder, ".aside-1")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if all := Asides(folder, now); len(all) != 0 {
		t.Errorf("before: %v", all)
	}
	SetAside(path)
	if all := Asides(folder, now.Add(asideFor-time.Hour)); len(all) != 1 || all[0].Path != path+".aside-1" || all[0].Was != "node.state" {
		t.Errorf("after: %v", all)
	}
	if all := Asides(folder, now.Add(asideFor+time.Hour)); len(all) != 0 {
		t.Errorf("after more than a week: %v", all)
	}
	if all := Asides(filepath.Join(folder, "none"), now); len(all) != 0 {
		t.Errorf("no folder: %v", all)
	}
}
