package node

import (
	"math"

	"golang.org/x/sys/unix"
)

// monotonic returns the time of the clock that systemd uses, in microseconds.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail with this clock
	return t.Nano() / 1000
}

// openFiles returns how many files the process may have open. Go has raised it
// to the hard limit at the start.
func openFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
