//go:build !linux

package daemon

// monotonic is asked for by systemd alone.
func monotonic() int64 { return 0 }
