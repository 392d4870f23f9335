package lobby

import (
	"time"

	"golang.org/x/sys/unix"
)

// Waited returns for how long what the other side sent last waited for what was sent to it
// last, from its arrival in the kernel; 0 if that is not known, as of a unix socket. It is
// the kernel that knows: what was read late says nothing of when it came.
func (c *Conn) Waited() time.Duration {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var waited time.Duration
	_ = raw.Control(func(fd uintptr) { // a closed one is not asked
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.Last_data_recv > info.Last_data_sent {
			waited = time.Duration(info.Last_data_recv-info.Last_data_sent) * time.Millisecond
		}
	})
	return waited
}
