//go:build unix

package setup

import (
	"io/fs"
	"syscall"

	"edgeguard/cmd/edgeguard/unit"
)

// ownerOf returns whose a file is.
func ownerOf(info fs.FileInfo) (uid uint32, group string) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Uid, unit.GroupName(s.Gid)
	}
	return 0, ""
}
