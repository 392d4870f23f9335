package doctor

import (
	"cmp"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"edgeguard/config"
	"edgeguard/config/yaml"
	"edgeguard/internal/safepath"
	"edgeguard/internal/unixsocket"
	"edgeguard/sensor/accesslog"
	"edgeguard/snapshot"
)

// listeners tries each address. One in use is what a running node does.
func (x *examination) listeners(c *config.Config) {
	for _, l := range c.Listeners() {
		about := l.Key + " " + l.Address.String()
		x.listener(about, l.Address)
		x.access(about, l.Access)
		x.certificates(about, l.TLS)
	}
	for _, l := range c.Listen.Admin {
		x.readable("admin token", l.TokenFile)
		x.readable("admin token of readers", l.ReaderTokenFile)
		x.readable("secret of the proxy", l.ProxyAuth.SecretFile)
	}
}

// readable checks whether a file can be opened; an empty name is none.
func (x *examination) readable(about, file string) {
	if file == "" {
		return
	}
	if f, err := os.Open(file); err != nil && x.denied(about, err) {
		return
	} else if err != nil {
		x.note(wrong, about, "%v", err)
	} else {
		_ = f.Close()
		x.note(fine, about, "%s is readable", file)
	}
}

// access checks whether the group of a socket can be set.
func (x *examination) access(about string, a yaml.Access) {
	if x.stranger() {
		return // its groups are not those of the node
	}
	if err := unixsocket.Access(a).Check(); err != nil {
		x.note(wrong, about, "%v", err)
	}
}

// inUse is said of a port that another process has, while it is not known that this
// is the config's node.
const inUse = "in use, but no node of this config answers: find the process with ss -ltnp"

func (x *examination) listener(about string, a yaml.Address) {
	if a.Network != "tcp" {
		x.folder(about, filepath.Dir(a.Address))
		return
	}
	l, err := net.Listen("tcp", a.Address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		x.note(doubt, about, inUse)
	case err != nil:
		x.note(wrong, about, "%v", err)
	default:
		_ = l.Close()
		x.note(fine, about, "free")
	}
}

// roomTried is how much is written to find out whether there is room for a node's state.
const roomTried = 1 << 20

// folder notes whether files can be made in a folder. One that systemd makes at the
// unit's start need not be there before.
func (x *examination) folder(about, folder string) {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) && x.unit != nil && slices.Contains(x.unit.Folders, folder) {
		x.note(fine, about, "systemd makes %s when %s starts", folder, UnitName)
		return
	}
	if i, known := x.unusable[folder]; known { // one cause is said once
		x.findings[i].About += ", " + about
		return
	}
	err := tryFolder(folder)
	if err != nil && x.denied(about, err) {
		return
	}
	if err == nil {
		x.note(fine, about, "%s is writable", folder)
		return
	}
	fix := "create the folder, owned by the user that serves"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		fix = "make room on its file system: df -h " + folder + "; df -i " + folder
	case errors.Is(err, syscall.EROFS):
		fix = "mount it writable, or name another folder; in a unit, ReadWritePaths= or StateDirectory= may be missing"
	case errors.Is(err, fs.ErrPermission):
		fix = "give it to the user that serves"
	}
	if x.unusable == nil {
		x.unusable = make(map[string]int)
	}
	x.unusable[folder] = len(x.findings)
	x.note(wrong, about, "no file can be written in %s: %v: %s", folder, errors.Unwrap(err), fix)
}

// tryFolder writes a file in a folder, to the disk, and removes it. Its error wraps the system's.
func tryFolder(folder string) error {
	f, err := os.CreateTemp(folder, ".edgeguard-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, roomTried))
	if err == nil {
		err = f.Sync() // a disk may say only now that it is full
	}
	return cmp.Or(err, f.Close(), os.Remove(f.Name()))
}

// way looks whether others could replace a file, or choose which one it is.
func (x *examination) way(about, file string) {
	if x.stranger() {
		return // the node's own folders would be another's
	}
	doubts, err := safepath.Doubts(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.note(wrong, about, "%v", err)
	}
	for _, text := range doubts {
		x.note(doubt, about, "%s", text)
	}
}

// state looks at the folder of what outlives a restart; serve makes it where
// it may.
func (x *examination) state(c *config.Config) {
	if c.State == "" {
		x.note(doubt, "state", "no state folder: a restart forgets all blocks and counts")
		return
	}
	if _, err := os.Stat(c.State); errors.Is(err, fs.ErrNotExist) && (x.unit == nil || !slices.Contains(x.unit.Folders, c.State)) {
		x.folder("state "+c.State, filepath.Dir(c.State))
		return
	}
	x.folder("state "+c.State, c.State)
	x.way("state "+c.State, filepath.Join(c.State, "node.state"))
	for _, a := range snapshot.Asides(c.State, time.Now()) {
		x.note(doubt, "state file "+a.Was, "%v", &a)
	}
}

// logs looks whether each file can be read and its last lines are of its
// format.
func (x *examination) logs(c *config.Config) {
	x.named = len(c.Clients) > 0
	for i, l := range c.Sensors.AccessLog {
		if l.IsPattern() {
			x.pattern(c, i)
			continue
		}
		if l.File == "" {
			if l.Listen.Unix() {
				x.folder("log "+l.Listen.String(), filepath.Dir(l.Listen.Address))
				x.access("log "+l.Listen.String(), l.Access)
			}
			continue
		}
		x.log(l.File, l.Format)
	}
}

// enforcers looks at the lists, at the commands that reload them, and at what
// the kernel cannot see.
func (x *examination) enforcers(c *config.Config) {
	if !c.Monitor && len(c.Ways()) == 0 {
		x.note(doubt, "mode enforce", "nothing in this config refuses what is blocked: run `edgeguard snippets` for what a proxy needs")
	}
	kernel := false
	for _, f := range c.Enforce.Files {
		kernel = kernel || f.Kernel
		x.folder("list "+f.File, filepath.Dir(f.File))
		x.way("list "+f.File, f.File)
		if len(f.Reload) == 0 {
			continue
		}
		if _, err := exec.LookPath(f.Reload[0]); err != nil {
			x.note(wrong, "list "+f.File, "reload: %v", err)
		}
	}
	if h := c.Enforce.HAProxy; h != nil {
		if conn, err := net.Dial("unix", h.Socket); errors.Is(err, fs.ErrPermission) {
			x.note(wrong, "haproxy "+h.Socket, "%v: %s", err, unixsocket.Join(h.Socket))
		} else if err != nil {
			x.note(wrong, "haproxy "+h.Socket, "%v: is HAProxy running, with a stats socket of level admin?", err)
		} else {
			_ = conn.Close()
			x.note(fine, "haproxy "+h.Socket, "answers")
		}
	}
	if c.Monitor && len(c.Enforce.Files) > 0 {
		x.note(doubt, "mode monitor", "the lists stay empty: nothing is enforced")
	}
	if proxies := farProxies(c.TrustedProxies); kernel && len(proxies) > 0 {
		x.note(doubt, "kernel lists", "clients behind %s are never added: the kernel sees the proxy's address; forward auth refuses these clients", strings.Join(proxies, ", "))
	}
}

// farProxies are the trusted proxies on other hosts.
func farProxies(prefixes []netip.Prefix) []string {
	var far []string
	for _, p := range prefixes {
		if !p.Addr().IsLoopback() {
			far = append(far, p.String())
		}
	}
	return far
}

// datagrams looks at the kernel's queue where lines come as unix datagrams, and at
// the receive buffer that it allows for UDP.
func (x *examination) datagrams(c *config.Config) {
	used := false
	for _, l := range c.Sensors.AccessLog {
		used = used || l.Listen.Network == "unixgram"
		x.receiveBuffer("log "+l.Listen.String(), l.ReceiveBuffer)
	}
	if !used {
		return
	}
	const name = "net.unix.max_dgram_qlen"
	text, err := os.ReadFile("/proc/sys/net/unix/max_dgram_qlen")
	if err != nil {
		x.note(doubt, name, "%v", err)
		return
	}
	queue, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if queue < accesslog.LeastQueue {
		x.note(doubt, name, "%d: lines are lost when they arrive faster than they are read; run `sysctl -w %s=%d` before edgeguard starts, follow a file, or have HAProxy log by a ring or ask by SPOE", queue, name, accesslog.LeastQueue)
		return
	}
	x.note(fine, name, "%d", queue)
}

// receiveBuffer looks whether the kernel allows the buffer that a log by UDP asks
// for; 0 is as much as there is.
func (x *examination) receiveBuffer(about string, asked int64) {
	text, err := os.ReadFile("/proc/sys/net/core/rmem_max")
	most, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err == nil && bad == nil && most < asked {
		x.note(doubt, about, "receive_buffer is %d bytes, and the kernel allows %d: run `sysctl -w net.core.rmem_max=%d` before edgeguard starts", asked, most, asked)
	}
}
