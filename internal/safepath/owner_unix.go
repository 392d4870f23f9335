//go:build unix

package safepath

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the number of a file's owner, -1 if it is not known.
func ownerOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}
