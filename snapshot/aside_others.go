//go:build !linux

package snapshot

import (
	"io/fs"
	"time"
)

// renamed returns when a file was written, shortly before it was renamed.
func renamed(info fs.FileInfo) time.Time { return info.ModTime() }
