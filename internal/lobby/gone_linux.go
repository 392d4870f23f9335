package lobby

import "golang.org/x/sys/unix"

// Gone reports whether the other side has closed, also while there are bytes that
// are not read yet.
func (c *Conn) Gone() bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		gone = err == nil && n > 0 && poll[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone
}
