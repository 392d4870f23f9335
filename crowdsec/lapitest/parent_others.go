//go:build !linux

package lapitest

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
