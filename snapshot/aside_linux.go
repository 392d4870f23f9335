package snapshot

import (
	"io/fs"
	"syscall"
	"time"
)

// renamed returns when a file was renamed: its status changed then. When it was written says
// nothing, since a node may have been down for long, and only its owner could change that.
func renamed(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return info.ModTime()
}
