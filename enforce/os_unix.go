//go:build unix

package enforce

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in its own process group and makes its
// context's end kill the whole group: a script's children go with it.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
