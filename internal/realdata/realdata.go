// Package realdata finds the real logs and captures that tests run on. They
// are not part of the project, because their licences differ: a test that
// needs one is skipped, with a message, where the folder is absent.
package realdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a file or folder of the real data, or skips the test.
// The folder is $EDGEGUARD_DATA, or shared/data beside the checkout.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	root := os.Getenv("EDGEGUARD_DATA")
	if root == "" {
		root = beside(started)
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("real data not present: %v (set EDGEGUARD_DATA to its folder to run this test)", err)
	}
	return path
}

// started is where the test began, its package's folder. The source's own path
// would not do: -trimpath takes it out of what is built.
var started, _ = os.Getwd()

// beside returns shared/data beside the outermost module that holds a folder: a
// module of the checkout may lie inside of another.
func beside(folder string) string {
	checkout := folder
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			checkout = folder
		}
	}
	return filepath.Join(checkout, "..", "shared", "data")
}
