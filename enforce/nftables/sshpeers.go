package nftables

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The addresses that hold an ssh connection to this host are spared, so that a trial of the
// packet filter does not end the session of who runs it.
//
// It reads /proc and opens no socket. A connection counts as ssh if its port here is
// one of those that are given, or if a process of an ssh server holds it. Only root
// sees the second. An address is taken from the kernel's own table, and is that of
// an established connection: who sends a single forged packet is not among them.

const (
	// DefaultSSHPort is ssh's.
	DefaultSSHPort = 22
	// Most is the most peers that are returned.
	Most = 1024
	// mostLines bounds what is read of a table: a busy edge has some 100,000
	// connections.
	mostLines = 4 << 20
	// mostProcesses and mostSockets bound the search for the processes of ssh servers.
	mostProcesses, mostSockets = 1 << 17, 1 << 14
)

// servers are the names of the processes that hold the connections of ssh servers.
// OpenSSH from 9.8 on has a program of its own for sessions, another from 10.0 on for
// logins.
var servers = map[string]bool{"sshd": true, "sshd-session": true, "sshd-auth": true, "dropbear": true}

// SSHPeers is what was found.
type SSHPeers struct {
	// Addrs are sorted, each is there once, and IPv4 is never mapped into IPv6.
	Addrs []netip.Addr
	// More says that there are more than were looked at or returned.
	More bool
}

// SSHPeersOfHost returns the peers of this host: see Find.
func SSHPeersOfHost(ports ...uint16) (SSHPeers, error) {
	return findSSHPeers(os.DirFS("/proc"), ports...)
}

// findSSHPeers returns the peers of established connections to these ports and to the ssh
// servers that are seen. proc is /proc.
func findSSHPeers(proc fs.FS, ports ...uint16) (SSHPeers, error) {
	is := wanted{ports: ports, inodes: sockets(proc)}
	found, more := make(map[netip.Addr]bool), false
	read := 0
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		f, err := proc.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return SSHPeers{}, err
		}
		cut, err := is.scan(f, found)
		_ = f.Close()
		if err != nil {
			return SSHPeers{}, err
		}
		more, read = more || cut, read+1
	}
	if read == 0 {
		return SSHPeers{}, errors.New("/proc/net/tcp is missing, so the peers of ssh connections are not known: mount /proc")
	}
	p := SSHPeers{More: more}
	for a := range found {
		p.Addrs = append(p.Addrs, a)
	}
	slices.SortFunc(p.Addrs, netip.Addr.Compare)
	return p, nil
}

// wanted says which connections count as ssh.
type wanted struct {
	ports  []uint16
	inodes map[uint64]bool // of sockets
}

// established is the state of such a connection in the kernel's table.
const established = "01"

// scan adds the peers of a table to found, and reports whether there are more.
func (is *wanted) scan(table io.Reader, found map[netip.Addr]bool) (more bool, err error) {
	lines := bufio.NewScanner(table)
	for n := 0; lines.Scan(); n++ {
		if n == mostLines {
			return true, nil
		}
		peer, ok := is.peer(lines.Text())
		if !ok || found[peer] {
			continue
		}
		if len(found) == Most {
			return true, nil
		}
		found[peer] = true
	}
	return false, lines.Err()
}

// peer returns the peer of a line of the table, if that is a connection that counts.
// Fields: number, here, peer, state, queues, timer, retransmissions, user, timeout,
// inode.
func (is *wanted) peer(line string) (none netip.Addr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != established {
		return none, false
	}
	here, ok := endpoint(fields[1])
	if !ok {
		return none, false
	}
	inode, err := strconv.ParseUint(fields[9], 10, 64)
	if !slices.Contains(is.ports, here.Port()) && (err != nil || !is.inodes[inode]) {
		return none, false
	}
	peer, ok := endpoint(fields[2])
	if a := peer.Addr(); ok && !a.IsLoopback() && !a.IsUnspecified() {
		return a, true
	}
	return none, false
}

// endpoint reads an address and a port as the kernel writes them: the address as
// words of 32 bits, each in the machine's own order.
func endpoint(text string) (none netip.AddrPort, ok bool) {
	address, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	bytes, errHex := hex.DecodeString(address)
	if cmp.Or(err, errHex) != nil || len(bytes) != 4 && len(bytes) != 16 {
		return none, false
	}
	for word := range slices.Chunk(bytes, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	a, ok := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(a.Unmap(), uint16(number)), ok
}

// sockets returns the inodes of the sockets that processes of ssh servers hold, as
// far as this process may look.
func sockets(proc fs.FS) map[uint64]bool {
	found := make(map[uint64]bool)
	root, err := proc.Open(".")
	if err != nil {
		return found
	}
	defer root.Close()
	folder, ok := root.(fs.ReadDirFile)
	if !ok {
		return found
	}
	entries, _ := folder.ReadDir(mostProcesses)
	for _, e := range entries {
		if _, err := strconv.ParseUint(e.Name(), 10, 32); err != nil {
			continue
		}
		name, _ := fs.ReadFile(proc, e.Name()+"/comm")
		if servers[strings.TrimSpace(string(name))] && len(found) < mostSockets {
			socketsOf(proc, e.Name(), found)
		}
	}
	return found
}

// socketsOf adds the sockets of a process to found. Any user can name a process sshd,
// and then holds a socket that counts: only root's processes do.
func socketsOf(proc fs.FS, pid string, found map[uint64]bool) {
	if !ofRoot(proc, pid) {
		return
	}
	entries, _ := fs.ReadDir(proc, pid+"/fd")
	for _, e := range entries {
		target, err := fs.ReadLink(proc, pid+"/fd/"+e.Name())
		number, ok := strings.CutPrefix(target, "socket:[")
		if err != nil || !ok {
			continue
		}
		if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
			found[inode] = true
		}
	}
}

// ofRoot reports whether a process belongs to root. The session of an OpenSSH user has
// a process of root's beside the user's, and both hold the socket.
func ofRoot(proc fs.FS, pid string) bool {
	status, err := fs.ReadFile(proc, pid+"/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok {
			return slices.Equal(strings.Fields(ids), []string{"0", "0", "0", "0"})
		}
	}
	return false
}

// SSHCaller returns the peer that SSH_CONNECTION names: client, its port, server, its
// port.
func SSHCaller(connection string) (netip.Addr, bool) {
	client, _, _ := strings.Cut(connection, " ")
	a, err := netip.ParseAddr(client)
	if err != nil {
		return netip.Addr{}, false
	}
	a = a.Unmap().WithZone("")
	return a, !a.IsLoopback() && !a.IsUnspecified()
}
