package hostaddr

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// root makes a file system with these files, path by path.
func root(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		write(t, filepath.Join(dir, path), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func protected(prefix, reason string) Protected {
	return Protected{netip.MustParsePrefix(prefix), reason}
}

func list(of ...Protected) func() ([]Protected, error) {
	return func() ([]Protected, error) { return of, nil }
}

// show writes a set on one line each, without what is protected everywhere.
func show(s Set) string {
	var b strings.Builder
	for _, p := range s {
		if p.Reason != "loopback" && p.Reason != "link-local" {
			b.WriteString(p.Prefix.String() + " " + p.Reason + "\n")
		}
	}
	return b.String()
}
