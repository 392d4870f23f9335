package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The variables of the unit are read as systemd shows them and as its files have them.
func TestEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edgeguard")
	text := "# PORT=1\n; PORT=2\n\nPORT=9191\n  SPACED = a b \nDOUBLE=\"a \\\" b\"\nSINGLE='a \\ b'\nBACK=a\\ b\nno assignment\n=nameless\nEMPTY=\nPORT=9192"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"A=1", "B=x y", "C=z", "PORT=9191", "SPACED=a b", `DOUBLE=a " b`, `SINGLE=a \ b`, "BACK=a b", "EMPTY=", "PORT=9192"}
	for name, of := range map[string]string{
		"systemctl show": "Environment=A=1 \"B=x y\" C=z\nEnvironmentFiles=/nonexistent (ignore_errors=yes)\nEnvironmentFiles=" + file + " (ignore_errors=no)\n",
		"files":          "Environment=A=1 'B=x y'\nEnvironment=C=z\nEnvironmentFile=-/nonexistent\nEnvironmentFile=-" + file + "\n",
	} {
		u, err := parseUnit("LoadState=loaded\nUser=root\n" + of)
		if got := u.Environment(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %q, want %q", name, err, got, want)
		}
	}
}

// A command has the unit's variables for the config of the unit, and not for another.
func TestAdopt(t *testing.T) {
	const name = "EDGEGUARD_TEST_ADOPTED"
	t.Setenv(name, "own")
	u := Unit{Found: true, Command: "/usr/bin/edgeguard serve --config /etc/edgeguard/edgeguard.yaml", Variables: []string{`"` + name + `=of the unit"`}}
	read := func(context.Context) (Unit, error) { return u, nil }
	Adopt(t.Context(), read, "other.yaml")
	if got := os.Getenv(name); got != "own" {
		t.Errorf("another config: %q", got)
	}
	Adopt(t.Context(), read, "/etc/edgeguard/edgeguard.yaml")
	if got := os.Getenv(name); got != "of the unit" {
		t.Errorf("the unit's config: %q", got)
	}
}
