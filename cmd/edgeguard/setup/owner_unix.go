//go:build unix

package setup

import (
	"io/fs"
	"syscall"

	"edgeguard/cmd/edgeguard/doctor"
)

// ownerOf returns whose a file is.
func ownerOf(info fs.FileInfo) (uid uint32, group string) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Uid, doctor.GroupName(s.Gid)
	}
	return 0, ""
}
