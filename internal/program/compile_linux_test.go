package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An interrupt leaves neither a compiler nor what it was writing.
func TestCompileEndsWithItsCompilers(t *testing.T) {
	folder := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Compile(ctx, folder, Edgeguard, "GOFLAGS=-a") // nothing of a cache
		ended <- err
	}()
	Eventually(t, "a compiler", func() bool { return compilers(folder) })
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cancelled", err)
	}
	Eventually(t, "no compiler", func() bool { return !compilers(folder) })
	if err := os.RemoveAll(folder); err != nil {
		t.Error(err)
	}
}

// compilers reports whether a process works in a folder.
func compilers(folder string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), folder+"/go-build") {
			return true
		}
	}
	return false
}
