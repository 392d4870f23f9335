package accesslog

import (
	"encoding/binary"
	"net/netip"
	"syscall"
)

// prepare asks for the receive buffer, and for the count of what the kernel
// drops. It returns how large the buffer is.
func prepare(raw syscall.RawConn, buffer int) (got int, err error) {
	failed := raw.Control(func(fd uintptr) {
		if err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, buffer); err != nil {
			return
		}
		if err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RXQ_OVFL, 1); err != nil {
			return
		}
		got, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	})
	if failed != nil {
		err = failed
	}
	return got / 2, err // the kernel counts its own overhead in: socket(7)
}

// await waits for a datagram and takes all that are there, as far as there is
// room. After an error of the wait, a passed deadline, it takes what is there
// without waiting.
func (b *datagramBatch) await(raw syscall.RawConn) error {
	var failed error
	err := raw.Read(func(fd uintptr) bool {
		failed = b.drain(int(fd))
		return b.Count+b.Refused > 0 || failed != nil
	})
	if err != nil {
		_ = raw.Control(func(fd uintptr) { failed = b.drain(int(fd)) })
		return err
	}
	return failed
}

// drain takes datagrams until none is waiting or no room is left.
func (b *datagramBatch) drain(fd int) error {
	var control []byte // none for a unix socket: its senders could pass on open files
	if b.udp {
		control = make([]byte, syscall.CmsgSpace(4))
	}
	for {
		room := b.room()
		if room == nil {
			b.More = true
			return nil
		}
		// With MSG_TRUNC the kernel returns a datagram's whole length.
		size, controls, _, from, err := syscall.Recvmsg(fd, room, control, syscall.MSG_DONTWAIT|syscall.MSG_TRUNC)
		switch err {
		case nil:
			b.dropped(control[:controls])
			b.take(size, sender(from))
		case syscall.EINTR:
		case syscall.EAGAIN:
			return nil
		default:
			return err
		}
	}
}

// dropped reads how many the kernel had dropped when it queued a datagram. Until
// the first it says nothing.
func (b *datagramBatch) dropped(control []byte) {
	if len(control) < syscall.CmsgLen(4) {
		return
	}
	messages, err := syscall.ParseSocketControlMessage(control)
	if err == nil && len(messages) == 1 && messages[0].Header.Type == syscall.SO_RXQ_OVFL && len(messages[0].Data) >= 4 {
		b.Dropped = binary.NativeEndian.Uint32(messages[0].Data)
	}
}

// sender returns the address of a UDP datagram, invalid for a unix one.
func sender(from syscall.Sockaddr) netip.Addr {
	switch from := from.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrFrom4(from.Addr)
	case *syscall.SockaddrInet6:
		return netip.AddrFrom16(from.Addr).Unmap()
	}
	return netip.Addr{}
}
