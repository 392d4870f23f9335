//go:build !linux

package node

import "math"

// monotonic is used with systemd alone.
func monotonic() int64 { return 0 }

// openFiles returns no limit.
func openFiles() int { return math.MaxInt32 }
