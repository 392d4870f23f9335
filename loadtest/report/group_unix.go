//go:build unix

package report

import (
	"os/exec"
	"syscall"
)

// inGroup gives the command a process group, and ends all of it when its context
// ends: a benchmark that is killed must not leave its Redis behind.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
