//go:build unix

package smallfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	path := write(t, "0123456789")
	if got, err := Read(path, 10); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Read(path, 9); err == nil || got != nil || !strings.Contains(err.Error(), "larger than 9 bytes") {
		t.Errorf("more than the bound: %q, %v", got, err)
	}
	if _, err := Read(path+".none", 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	pipe := path + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{pipe, filepath.Dir(path), "/dev/null"} {
		if _, err := Read(other, 9); err == nil || !strings.Contains(err.Error(), "is not a file") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

func TestWord(t *testing.T) {
	for content, want := range map[string]string{"secret": "secret", " se~cret!\r\n": "se~cret!", strings.Repeat("a", 64<<10): strings.Repeat("a", 64<<10)} {
		if got, err := Word(write(t, content)); err != nil || got != want {
			t.Errorf("%.20q: %.20q, %v", content, got, err)
		}
	}
	for content, want := range map[string]string{
		"": "is empty", " \n": "is empty", "two-secret words-secret": "is not one secret", "one-secret\nother": "is not one secret",
		"sécret-secret": "is not one secret", "secret\x00": "is not one secret", "\x1b[2Jsecret": "is not one secret",
		strings.Repeat("a", 64<<10+1): "is larger than 65536 bytes",
	} {
		got, err := Word(write(t, content))
		if err == nil || got != "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret\"") || strings.Contains(err.Error(), "-secret") {
			t.Errorf("%.20q: %.20q, %v, want %q", content, got, err, want)
		}
	}
}
