package realdata

import (
	"os"
	"path/filepath"
	"testing"
)

// The data are found from a module inside of the checkout, too, and whatever the
// flags of the build are.
func TestBeside(t *testing.T) {
	top := t.TempDir()
	inner := filepath.Join(top, "checkout", "test", "inner")
	if err := os.MkdirAll(filepath.Join(inner, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{filepath.Join(top, "checkout"), inner} {
		if err := os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(top, "shared", "data")
	for _, folder := range []string{filepath.Join(top, "checkout"), inner, filepath.Join(inner, "deep")} {
		if got := beside(folder); got != want {
			t.Errorf("beside %s: %s, want %s", folder, got, want)
		}
	}
	if here := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(started))), "shared", "data"); beside(started) != here {
		t.Errorf("of this checkout: %s, want %s", beside(started), here)
	}
}
