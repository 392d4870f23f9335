//go:build !linux

package redistest

import "syscall"

// dieWithParent has nothing to ask for where the kernel does not offer it: a
// test binary that is killed leaves its servers running.
func dieWithParent() *syscall.SysProcAttr { return nil }
