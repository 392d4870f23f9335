package daemon

import "golang.org/x/sys/unix"

// monotonic is the clock that systemd compares with, in microseconds.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail with this clock
	return t.Nano() / 1000
}
