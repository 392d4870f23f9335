package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of the state that could not be used is named, also while no node runs.
func TestStateSetAside(t *testing.T) {
	folder := t.TempDir()
	file, aside := filepath.Join(folder, "edgeguard.yaml"), filepath.Join(folder, "node.state.aside-2")
	for name, text := range map[string]string{
		file: "state: " + folder + "\nrules: [{name: small, threshold: 5}]\n", aside: "", filepath.Join(folder, "blocks.aside-notes"): "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, _ := doctor(t, file, Unit{})
	if f := r.of("state file node.state"); f.Severity != doubt || !strings.Contains(f.Text, aside) {
		t.Errorf("%+v", f)
	}
	if f := r.of("state file blocks"); f.About != "" {
		t.Errorf("%+v", f)
	}
}
