package access

import (
	"fmt"
	"net"
	"syscall"
)

// unixPeer returns the user and the process at the other end of a unix socket,
// as the kernel noted them when it connected.
func unixPeer(c net.Conn) string {
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return "unix socket"
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return "unix socket"
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil || credErr != nil {
		return "unix socket"
	}
	return fmt.Sprintf("uid %d, pid %d", cred.Uid, cred.Pid)
}
