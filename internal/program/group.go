package program

import (
	"os/exec"
	"syscall"
)

// InGroup gives a command of [exec.CommandContext] a process group, and ends all of it
// when the context ends: go build that is killed must not leave its compilers behind,
// nor a benchmark its Redis.
func InGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
