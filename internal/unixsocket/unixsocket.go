// Package unixsocket makes the file of a unix socket, so that at no moment more
// people may connect than it is meant for.
package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
)

// Access says who may connect: those who may write to the file.
type Access struct {
	Mode  fs.FileMode // permission bits
	Group string      // by name or number; empty for that of the process
}

// closed is the mode of the file until its group is set: only its owner
// may connect.
const closed = 0o600

// Listen listens at path. Only the owner can connect before the group is
// right. The file must not be there; closing the listener removes it.
func Listen(path string, a Access) (*net.UnixListener, error) {
	config := net.ListenConfig{Control: closeFirst}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if err := a.Give(path); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l.(*net.UnixListener), nil
}

// ListenPacket is Listen for datagrams. Closing the connection leaves the file.
func ListenPacket(path string, a Access) (*net.UnixConn, error) {
	config := net.ListenConfig{Control: closeFirst}
	c, err := config.ListenPacket(context.Background(), "unixgram", path)
	if err != nil {
		return nil, err
	}
	if err := a.Give(path); err != nil {
		_ = c.Close()
		_ = os.Remove(path)
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// Give sets the group and the mode of a socket's file.
func (a Access) Give(path string) error {
	gid, err := a.gid()
	if err != nil {
		return err
	}
	if gid >= 0 {
		if err := os.Lchown(path, -1, gid); errors.Is(err, fs.ErrPermission) {
			return a.notIn()
		} else if err != nil {
			return err
		}
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket: // chmod(2) would follow a link
		return fmt.Errorf("another file has taken the place of the socket %s: choose a folder to which only edgeguard and root may write", path)
	case info.Mode().Perm() == a.Mode.Perm():
		return nil
	}
	return os.Chmod(path, a.Mode.Perm())
}

// Compare reports in which way a socket's file differs.
func (a Access) Compare(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	gid, err := a.gid()
	switch {
	case err != nil:
		return err
	case info.Mode().Perm() != a.Mode.Perm():
		return fmt.Errorf("its mode is %04o, but the config says %04o", info.Mode().Perm(), a.Mode.Perm())
	case gid >= 0 && gid != groupOf(info):
		return fmt.Errorf("its group is not the %s of the config", a.Group)
	}
	return nil
}

// WhoMay returns, for a user who may not connect to a socket, who may and what to do.
func WhoMay(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "its folder is closed to you: run this as root"
	}
	gid := groupOf(info)
	if gid < 0 || info.Mode().Perm()&0o020 == 0 {
		return "only root and the user that serves may connect: run this as root, or name a `group` for this entry of listen.admin"
	}
	name := groupName(gid)
	return fmt.Sprintf("root and group %s may connect: run this as root, or `usermod -aG %s USER` and log in again", name, name)
}

// Join returns, for a service that may not connect to another program's socket,
// what to do.
func Join(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "a folder on its path is closed to this user: let the user of edgeguard pass through it"
	}
	gid := groupOf(info)
	if gid < 0 || info.Mode().Perm()&0o020 == 0 {
		return fmt.Sprintf("its mode %04o admits no group: give it mode 660 where it is configured", info.Mode().Perm())
	}
	name := groupName(gid)
	return fmt.Sprintf("group %s may connect: put `SupplementaryGroups=%s` into the unit with `systemctl edit edgeguard`, and restart it", name, name)
}

// groupName returns a group's name, or its number where it has none.
func groupName(gid int) string {
	name := strconv.Itoa(gid)
	if g, err := user.LookupGroupId(name); err == nil {
		name = g.Name
	}
	return name
}

// Check reports what would keep this process from giving a socket to the group.
func (a Access) Check() error {
	gid, err := a.gid()
	if err != nil || gid < 0 || os.Geteuid() == 0 || gid == os.Getegid() {
		return err
	}
	if groups, err := os.Getgroups(); err != nil || slices.Contains(groups, gid) {
		return err
	}
	return a.notIn()
}

func (a Access) notIn() error {
	name := "this user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Errorf("a socket cannot be given to group %s, because %s is not in it: `usermod -aG %s %s` (systemd: SupplementaryGroups=%s), then restart",
		a.Group, name, a.Group, name, a.Group)
}

// gid returns the group's number, -1 for none.
func (a Access) gid() (int, error) {
	if a.Group == "" {
		return -1, nil
	}
	g, err := user.LookupGroup(a.Group)
	if err == nil {
		return strconv.Atoi(g.Gid)
	}
	if number, err := strconv.ParseUint(a.Group, 10, 31); err == nil {
		return int(number), nil
	}
	return 0, fmt.Errorf("there is no group %s on this host: make it with `groupadd --system %s`, or name another one in `group`", a.Group, a.Group)
}
