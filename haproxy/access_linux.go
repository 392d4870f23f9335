package haproxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// The parts of an access list as the kernel reads it, in the order that it requires.
const (
	aclVersion = 2
	ofOwner    = 0x01
	ofUser     = 0x02
	ofGroup    = 0x04
	ofMask     = 0x10
	ofOthers   = 0x20
	noID       = 0xffffffff
	readWrite  = 6
)

// admit lets one user, besides the owner, connect to the socket at path.
func admit(path string, uid int) error {
	list := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for _, e := range []struct {
		tag, may uint16
		id       uint32
	}{{ofOwner, readWrite, noID}, {ofUser, readWrite, uint32(uid)}, {ofGroup, 0, noID}, {ofMask, readWrite, noID}, {ofOthers, 0, noID}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.may)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	// A link is not followed: where others may write to the folder, one may have taken the
	// place of the socket.
	err := unix.Lsetxattr(path, "system.posix_acl_access", list, 0)
	if info, _ := os.Lstat(path); info != nil && info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("another file has taken the place of the socket %s: choose a folder to which only edgeguard and root may write", path)
	}
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return fmt.Errorf("the file system of %s has no access lists, so that no one user can be admitted: choose a path in /run, or use TLS", filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("the access list of %s: %w: the socket must belong to the user of edgeguard", path, err)
	}
	return nil
}

// credentials returns the user and the process at the other end of a unix socket,
// as the kernel noted them when it connected.
func credentials(c net.Conn) (uid, pid int, err error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return 0, 0, errors.New("the connection is not a unix socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, credErr); err != nil {
		return 0, 0, fmt.Errorf("the user of a connection: %w", err)
	}
	return int(cred.Uid), int(cred.Pid), nil
}
