package lapitest

import "syscall"

// dieWithParent ends a program with the test that started it.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
