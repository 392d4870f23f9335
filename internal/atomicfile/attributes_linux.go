package atomicfile

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"edgeguard/internal/safepath"
)

// mostAttribute bounds an attribute, and the list of their names, as the kernel does.
const mostAttribute = 1 << 16

// keepAttributes gives f the access list, the label and the users' attributes of the file at its place, as
// far as this process may. A mode without its access list would give the group what the list gave one user.
func keepAttributes(f *os.File, place *safepath.Place) {
	old, err := place.OpenFile(place.Name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer func() { _ = old.Close() }() // it was only read
	from, to, names := int(old.Fd()), int(f.Fd()), make([]byte, mostAttribute)
	n, err := unix.Flistxattr(from, names)
	if err != nil {
		return
	}
	for name := range strings.SplitSeq(string(names[:n]), "\x00") {
		if name != "system.posix_acl_access" && name != "security.selinux" && !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, mostAttribute)
		if n, err := unix.Fgetxattr(from, name, value); err == nil {
			_ = unix.Fsetxattr(to, name, value[:n], 0)
		}
	}
}
