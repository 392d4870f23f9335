package box

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	asked  = "EDGEGUARD_BOX"        // the package to install, set by make test-box
	inside = "EDGEGUARD_BOX_INSIDE" // the folder with what the test inside uses
	groups = "EDGEGUARD_BOX_CGROUP" // where it may create cgroups
)

// alone are the namespaces of the test that boots boxes. Whatever it mounts and
// starts ends with it, even if it is killed.
const (
	netNamespace = syscall.CLONE_NEWNET
	alone        = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | netNamespace
)

// TestBox boots a box for each scenario. It runs itself again in namespaces of its
// own, and there it is the clients' host.
func TestBox(t *testing.T) {
	switch {
	case os.Getenv(inside) != "":
		prepare(t)
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel() // they wait more than they work
				s.run(boot(t))
			})
		}
		return
	case os.Getenv(asked) == "":
		t.Skip("boots Debian, which takes minutes: make test-box")
	case os.Getuid() != 0:
		t.Skip("SKIPPED: only root can boot a system in namespaces: run make test-box as root")
	}
	for _, tool := range []string{"debootstrap", "ip", "nsenter", "unshare", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is not installed: make test-box installs it", tool)
		}
	}
	if out, err := in(t.Context(), "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: this machine allows no namespaces: %v %s", err, out)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if deadline, ok := t.Deadline(); ok { // leave time for clearing up
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-20*time.Second))
		defer cancel()
	}
	deb, err := filepath.Glob(os.Getenv(asked))
	if err != nil || len(deb) != 1 {
		t.Fatalf("%s=%s: name one package", asked, os.Getenv(asked))
	}
	runAgain(t, ctx, deb[0])
}

// in returns a command in namespaces that end with it, and with this program.
func in(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: alone, Pdeathsig: syscall.SIGKILL}
	return c
}

// runAgain runs this test in its namespaces.
func runAgain(t *testing.T, ctx context.Context, deb string) {
	runtime.LockOSThread() // the kernel sends Pdeathsig when the thread ends
	defer runtime.UnlockOSThread()
	group, err := cgroup()
	if err != nil {
		t.Skipf("SKIPPED: systemd requires a cgroup of version 2: %v", err)
	}
	defer removeGroups(t, group)
	dir := t.TempDir()
	for name, file := range map[string]string{"root": minimal(t, ctx), "edgeguard.deb": deb} {
		if err := os.Symlink(file, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "live"), 0o755); err != nil {
		t.Fatal(err)
	}
	again := in(ctx, os.Args[0], slices.Concat([]string{"-test.run=^TestBox$", "-test.parallel=4"}, again())...)
	again.Env = append(os.Environ(), inside+"="+dir, groups+"="+group)
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	if err := again.Run(); err != nil {
		t.Fatalf("in the namespaces: %v", errors.Join(err, context.Cause(ctx)))
	}
}

// again returns the flags of this test, for the one inside.
func again() []string {
	return slices.DeleteFunc(slices.Clone(os.Args[1:]), func(flag string) bool {
		return !strings.HasPrefix(flag, "-test.run=TestBox/") && !strings.HasPrefix(flag, "-test.v") && !strings.HasPrefix(flag, "-test.timeout") && !strings.HasPrefix(flag, "-test.failfast")
	})
}

// cgroup returns a new cgroup of version 2 below this program's own.
func cgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mounts)) {
		field := strings.Fields(line)
		if field[2] != "cgroup2" {
			continue
		}
		_, below, _ := strings.Cut("\n"+string(own), "\n0::")
		below, _, _ = strings.Cut(below, "\n")
		removeStale(filepath.Join(field[1], below, "edgeguard-box-*"))
		group := filepath.Join(field[1], below, fmt.Sprintf("edgeguard-box-%d", os.Getpid()))
		return group, os.Mkdir(group, 0o755)
	}
	return "", errors.New("none is mounted")
}

// removeStale removes the cgroups of tests that were killed.
func removeStale(pattern string) {
	found, _ := filepath.Glob(pattern)
	for _, group := range found {
		_, pid, _ := strings.Cut(filepath.Base(group), "box-")
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, fs.ErrNotExist) {
			_ = remove(group)
		}
	}
}

// removeGroups removes the cgroups of this test.
func removeGroups(t *testing.T, group string) {
	if err := remove(group); err != nil {
		t.Errorf("cgroups are left: %v", err)
	}
}

// remove removes a cgroup with those that systemd created in it.
func remove(group string) error {
	var found []string
	err := filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	slices.Reverse(found) // children first
	for _, path := range found {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
