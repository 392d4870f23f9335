//go:build unix

package enforce

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own and makes its
// context's end kill the whole group: a script's children go with it.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// keepOwner gives f the owner of old. Only root may do that for others' files;
// where it fails, f stays this process's, which can read and write it again.
func keepOwner(f *os.File, old os.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}
