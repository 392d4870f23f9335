package redistest

import "syscall"

// dieWithParent has the kernel kill the server when the thread that started it
// ends, which for Go's threads is when the test's process does: a test binary
// that is killed runs no cleanup.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
