//go:build unix

package unixsocket

import (
	"io/fs"
	"syscall"
)

// groupOf returns the number of a file's group, -1 if it is not known.
func groupOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Gid)
	}
	return -1
}
