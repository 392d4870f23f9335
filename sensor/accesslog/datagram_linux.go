package accesslog

import "syscall"

// await waits for a datagram and takes all that are there, as far as there is
// room. After an error of the wait, a passed deadline, it takes what is there
// without waiting.
func (d *datagrams) await(raw syscall.RawConn) error {
	var failed error
	err := raw.Read(func(fd uintptr) bool {
		failed = d.drain(int(fd))
		return d.count > 0 || failed != nil
	})
	if err != nil {
		_ = raw.Control(func(fd uintptr) { failed = d.drain(int(fd)) })
		return err
	}
	return failed
}

// drain takes datagrams until none is waiting or no room is left.
func (d *datagrams) drain(fd int) error {
	for {
		room := d.room()
		if room == nil {
			d.more = true
			return nil
		}
		// With MSG_TRUNC the kernel returns a datagram's whole length.
		size, _, err := syscall.Recvfrom(fd, room, syscall.MSG_DONTWAIT|syscall.MSG_TRUNC)
		switch err {
		case nil:
			d.add(min(size, len(room)), size)
		case syscall.EINTR:
		case syscall.EAGAIN:
			return nil
		default:
			return err
		}
	}
}
