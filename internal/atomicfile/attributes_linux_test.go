package atomicfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that is replaced keeps its access list and its users' attributes, and its group gets no more.
func TestInheritAttributes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	// user::rw-, user:1234:rw-, group::r--, mask::rw-, other::---
	list := []byte("\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\xd2\x04\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff" + "\x10\x00\x06\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff")
	want := map[string][]byte{"user.mine": []byte("x"), "system.posix_acl_access": list}
	for name, value := range want {
		if err := unix.Setxattr(path, name, value, 0); err != nil {
			t.Skip(err)
		}
	}
	if err := Replace(path, []byte("new"), Options{Mode: 0o600, Inherit: true}); err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		got := make([]byte, 100)
		n, err := unix.Getxattr(path, name, got)
		if err != nil || !bytes.Equal(got[:n], value) {
			t.Errorf("%s: %q, %v", name, got[:max(n, 0)], err)
		}
	}
}
