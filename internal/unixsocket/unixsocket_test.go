package unixsocket

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A socket's file is closed to others from its first moment, whatever the umask.
func TestClosedFromTheFirstMoment(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path, Access{Mode: 0o666, Group: "no-such-group"})
	if err == nil {
		_ = l.Close()
		t.Fatal("a group that is not there")
	}
	// The same, stopped before the file gets its mode.
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "socket")
	defer func() { _ = file.Close() }()
	raw, err := file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := closeFirst("unix", path, raw); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != closed {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestModeAndGroup(t *testing.T) {
	dir := t.TempDir()
	group := strconv.Itoa(os.Getegid())
	if os.Geteuid() == 0 {
		group = "4242"
	}
	l, err := Listen(filepath.Join(dir, "s"), Access{Mode: 0o660, Group: group})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := ListenPacket(filepath.Join(dir, "d"), Access{Mode: 0o620, Group: group})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for name, mode := range map[string]os.FileMode{"s": 0o660, "d": 0o620} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode || strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Gid)) != group {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestUnknownGroup(t *testing.T) {
	a := Access{Mode: 0o660, Group: "no-such-group"}
	for _, err := range []error{a.Check(), a.Give("/nonexistent")} {
		if err == nil || !strings.Contains(err.Error(), "groupadd --system no-such-group") {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Stat("/nonexistent"); err == nil {
		t.Error("made")
	}
}

// Who may not connect to another program's socket reads which group may, and if
// none may, the mode.
func TestJoin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if got := Join(path); !strings.Contains(got, "a folder on its path") {
		t.Errorf("no file: %s", got)
	}
	l, err := Listen(path, Access{Mode: 0o660})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if os.Geteuid() == 0 {
		if err := os.Lchown(path, -1, 4242); err != nil {
			t.Fatal(err)
		}
		if got := Join(path); !strings.Contains(got, "SupplementaryGroups=4242") {
			t.Errorf("a group without a name: %s", got)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Join(path); !strings.Contains(got, "mode 0600") || !strings.Contains(got, "mode 660") {
		t.Errorf("closed to its group: %s", got)
	}
}

// A link that has taken the place of a socket is not followed.
func TestGiveFollowsNoLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := errors.Join(os.WriteFile(path+".secret", nil, 0o600), os.Symlink(path+".secret", path)); err != nil {
		t.Fatal(err)
	}
	if err := (Access{Mode: 0o666}).Give(path); err == nil {
		t.Error("no error")
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
}
