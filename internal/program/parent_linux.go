package program

import "syscall"

// DieWithParent has the kernel kill the process when the thread that started it
// ends, which for Go's threads is when the starting process does: a test binary
// that is killed runs no cleanup.
func DieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
