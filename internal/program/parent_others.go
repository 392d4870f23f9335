//go:build !linux

package program

import "syscall"

// DieWithParent has nothing to ask for where the kernel does not offer it: a
// test binary that is killed leaves its servers running.
func DieWithParent() *syscall.SysProcAttr { return nil }
