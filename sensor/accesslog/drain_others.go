//go:build !linux

package accesslog

import (
	"errors"
	"syscall"
)

var errLinux = errors.New("datagrams are received on Linux only: use unix: or tcp:")

// prepare is for Linux only: elsewhere nothing says what was dropped.
func prepare(syscall.RawConn, int) (int, error) { return 0, errLinux }

// await is for Linux only: elsewhere a datagram that was cut off looks whole.
func (b *datagramBatch) await(syscall.RawConn) error { return errLinux }
