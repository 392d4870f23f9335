package unixsocket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// closeFirst sets the mode of a socket before it has a file: bind(2) makes the
// file with the socket's own mode. The umask would do, too, and for every other
// file that the process makes at that moment.
func closeFirst(_, _ string, raw syscall.RawConn) error {
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), closed) }); err != nil {
		return err
	}
	return failed
}
