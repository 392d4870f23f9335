package node

import (
	"math"

	"golang.org/x/sys/unix"
)

// monotonic is the clock that systemd compares with, in microseconds.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail with this clock
	return t.Nano() / 1000
}

// openFiles is how many files the process may have open. Go has raised it to
// the hard limit at the start.
func openFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
