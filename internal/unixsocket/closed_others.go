//go:build !linux

package unixsocket

import "syscall"

// closeFirst does nothing here: the umask is all that keeps others out until the
// file has its mode.
func closeFirst(_, _ string, _ syscall.RawConn) error { return nil }
