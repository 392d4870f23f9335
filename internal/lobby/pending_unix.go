//go:build unix

package lobby

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// pending reports whether bytes have come that are not read yet.
func pending(c net.Conn) bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var n int
	var b [1]byte
	_ = raw.Control(func(fd uintptr) { // a closed one has nothing pending
		n, _, _ = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return n > 0
}
