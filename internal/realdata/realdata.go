// Package realdata finds the real logs and captures that tests run on. They
// are not part of the project, because their licences differ: a test that
// needs one is skipped, with a message, where the folder is absent.
package realdata

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Path returns the path of a file or folder of the real data, or skips the test.
// The folder is $EDGEGUARD_DATA, or shared/data beside the checkout.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	root := os.Getenv("EDGEGUARD_DATA")
	if root == "" {
		_, here, _, _ := runtime.Caller(0)
		root = filepath.Join(filepath.Dir(here), "..", "..", "..", "shared", "data")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("real data not present: %v (set EDGEGUARD_DATA to its folder to run this test)", err)
	}
	return path
}
