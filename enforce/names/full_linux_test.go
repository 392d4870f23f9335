package names

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/enforce"
)

// inFull names, in a test that was started again, a tmpfs with room for twenty files.
const inFull = "EDGEGUARD_NAMES_FULL"

// TestFull: a folder that is full has as many names as it can, says how many are missing, and
// can still be unblocked in. When there is room again, the next whole list puts it right.
func TestFull(t *testing.T) {
	dir := os.Getenv(inFull)
	if dir == "" {
		dir = filepath.Dir(folder(t)) // others may look into it
		c := exec.Command("unshare", "-rm", "sh", "-c", `mount -t tmpfs -o nr_inodes=20,mode=755 tmpfs "$0" && exec "$1" -test.run '^TestFull$' -test.v`, dir, os.Args[0])
		c.Env = append(os.Environ(), inFull+"="+dir)
		out, err := c.CombinedOutput()
		switch {
		case err != nil && strings.Contains(string(out), "unshare"):
			t.Skip(string(out))
		case err != nil || !strings.Contains(string(out), "PASS: TestFull"):
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	path := filepath.Join(dir, "names")
	f := opens(t, path)
	defer func() { _ = f.Close() }()
	list := entries("203.0.113.1/32", "203.0.113.2/32", "203.0.113.3/32", "203.0.113.4/32", "198.51.100.0/27")
	var err error
	if err = f.Replace(t.Context(), time.Now(), list); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "of 36 blocked addresses are not in "+path) {
		t.Fatal(err)
	}
	had := len(listed(t, path))
	if had == 0 {
		t.Fatal("no name is in the folder")
	}
	if err := f.Apply(t.Context(), time.Now(), entries("203.0.113.9/32"), nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("one more: %v", err)
	}
	lifted := listed(t, path)[0]
	var fewer []enforce.Entry
	for _, e := range entries("203.0.113.1/32", "203.0.113.2/32", "203.0.113.3/32", "203.0.113.4/32") {
		if e.Prefix.Addr().String() != lifted {
			fewer = append(fewer, e)
		}
	}
	if err := f.Replace(t.Context(), time.Now(), fewer); err != nil {
		t.Fatal(err)
	}
	if got := len(listed(t, path)); got != len(fewer) {
		t.Errorf("%d names after there was room, want %d", got, len(fewer))
	}
}
