package enforce_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/enforce"
)

// A node that may not open HAProxy's socket names the group that may. To ask
// whether HAProxy runs would mislead: it does.
func TestHAProxyDeniedNamesGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can ask as another user")
	}
	const user = 65534
	dir := t.TempDir()
	lists, path := filepath.Join(dir, "lists"), filepath.Join(dir, "s")
	if err := os.Mkdir(lists, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(lists, user, user); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Lchown(path, -1, 4242); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := newFile(t, enforce.FileConfig{Path: filepath.Join(lists, "list"), Format: enforce.FormatHAProxy, Socket: path})
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := syscall.Setfsuid(user); err != nil {
			done <- err
			return
		}
		done <- f.Replace(t.Context(), time.Now(), nil)
	}()
	err = <-done
	if err == nil || !strings.Contains(err.Error(), "SupplementaryGroups=4242") {
		t.Errorf("error %v", err)
	}
}
