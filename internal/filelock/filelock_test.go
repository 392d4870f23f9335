//go:build unix

package filelock

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// asHolder has the test's program hold the lock of this name until it is killed.
const asHolder = "EDGEGUARD_FILELOCK"

func TestMain(m *testing.M) {
	path := os.Getenv(asHolder)
	if path == "" {
		goleak.VerifyTestMain(m)
	}
	if _, err := Hold(context.Background(), path, "the child", 0); err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("held\n")
	select {}
}

// A kill frees the lock, and the next who holds it writes itself into it.
func TestKillFreesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), asHolder+"="+path)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the child: %q, %v", line, err)
	}
	if _, err := Hold(t.Context(), path, "the parent", 0); !errors.Is(err, ErrInUse) || !strings.HasSuffix(err.Error(), ": the child") {
		t.Errorf("while the child lives: %v", err)
	}
	must(t, child.Process.Signal(syscall.SIGKILL))
	_ = child.Wait() // it was killed
	l, err := Hold(t.Context(), path, "me", 0)
	must(t, err)
	defer l.Release()
	if text, err := os.ReadFile(path); string(text) != "me\n" {
		t.Errorf("it says %q, %v", text, err)
	}
}

// Who waits has the lock when the holder ends, and gives up when its patience does.
func TestPatience(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	synctest.Test(t, func(t *testing.T) {
		first, err := Hold(t.Context(), path, "first\x1b[2J", 0)
		must(t, err)
		time.AfterFunc(3*time.Second, first.Release)
		second, err := Hold(t.Context(), path, "second", 5*time.Second)
		must(t, err)
		defer second.Release()
		began := time.Now()
		if _, err := Hold(t.Context(), path, "third", 5*time.Second); !errors.Is(err, ErrInUse) || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := Hold(ended, path, "third", 5*time.Second); !errors.Is(err, ErrInUse) || time.Since(began) != 5*time.Second {
			t.Errorf("after its context ended: %v", err)
		}
	})
}

// What the holder wrote is printed: it does nothing to a terminal.
func TestHoldersText(t *testing.T) {
	for text, want := range map[string]string{"": "has not written", "a\x1b[2Jb\nc": ": a?[2Jb c", strings.Repeat("x", 2*mostHolder): strings.Repeat("x", mostHolder)} {
		path := filepath.Join(t.TempDir(), "lock")
		l, err := Hold(t.Context(), path, text, 0)
		must(t, err)
		_, err = Hold(t.Context(), path, "other", 0)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > mostHolder+100 {
			t.Errorf("%q: %v", text, err)
		}
		l.Release()
	}
}

// A link is not followed, a pipe does not hold it up, and a file that was removed locks
// nothing.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "lock"), filepath.Join(dir, "target")
	must(t, os.Symlink(target, path))
	if _, err := Hold(t.Context(), path, "me", 0); err == nil {
		t.Error("a link was followed")
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("a file was made where a link leads")
	}
	must(t, os.Remove(path))
	must(t, syscall.Mkfifo(path, 0o600))
	if l, err := Hold(t.Context(), path, "me", 0); err == nil {
		l.Release()
	}
	must(t, os.Remove(path))
	f, err := open(path, os.O_RDWR, 0o600)
	must(t, err)
	defer func() { _ = f.Close() }()
	must(t, os.Remove(path))
	if err := lockNamed(f, true); !errors.Is(err, ErrInUse) {
		t.Errorf("a file that was removed: %v", err)
	}
}

// Several share a lock, and none has it alone during that time.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Take(path, false)
	must(t, err)
	second, err := Take(path, false)
	must(t, err)
	first.Release()
	if _, err := Take(path, true); !errors.Is(err, ErrInUse) {
		t.Errorf("alone beside another: %v", err)
	}
	second.Release()
	alone, err := Take(path, true)
	must(t, err)
	if _, err := Take(path, false); !errors.Is(err, ErrInUse) {
		t.Errorf("beside one that is alone: %v", err)
	}
	alone.Remove()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the file is there")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
