//go:build !linux

package accesslog

import (
	"errors"
	"syscall"
)

// await is for Linux only: elsewhere a datagram that was cut off looks whole.
func (d *datagrams) await(syscall.RawConn) error {
	return errors.New("unix datagrams are received on Linux only: use unix: or tcp:")
}
