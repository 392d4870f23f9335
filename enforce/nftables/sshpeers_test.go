package nftables

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

// text writes an endpoint as the kernel of this machine does.
func text(t *testing.T, endpoint string) string {
	t.Helper()
	a := netip.MustParseAddrPort(endpoint)
	bytes := a.Addr().AsSlice()
	var b strings.Builder
	for word := range slices.Chunk(bytes, 4) {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(word))
	}
	return fmt.Sprintf("%s:%04X", b.String(), a.Port())
}

// line is a connection in the kernel's table.
func line(t *testing.T, here, peer, state string, inode int) string {
	t.Helper()
	return fmt.Sprintf("   3: %s %s %s 00000000:00000000 02:000A7214 00000000  1000        0 %d 2 0000000000000000 20 4 30 10 -1\n",
		text(t, here), text(t, peer), state, inode)
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// The peers of established connections to the ports are found, in both families;
// other states, other ports and this host itself are not.
func TestPorts(t *testing.T) {
	t.Parallel()
	proc := fstest.MapFS{
		"net/tcp": file(head +
			line(t, "192.0.2.1:22", "203.0.113.7:50000", "01", 10) +
			line(t, "192.0.2.1:22", "203.0.113.7:50001", "01", 11) +
			line(t, "192.0.2.1:22", "198.51.100.9:50000", "06", 12) + // it waits for its end
			line(t, "192.0.2.1:22", "198.51.100.8:50000", "03", 13) + // SYN received: forgeable
			line(t, "192.0.2.1:80", "198.51.100.7:22", "01", 14) +
			line(t, "127.0.0.1:22", "127.0.0.1:50000", "01", 15) +
			line(t, "192.0.2.1:2222", "203.0.113.8:50000", "01", 16) +
			line(t, "0.0.0.0:22", "0.0.0.0:0", "0A", 17)),
		"net/tcp6": file(head +
			line(t, "[2001:db8::1]:22", "[2001:db8:1::7]:50000", "01", 20) +
			line(t, "[::ffff:192.0.2.1]:22", "[::ffff:203.0.113.9]:50000", "01", 21) +
			line(t, "[::1]:22", "[::1]:50000", "01", 22)),
	}
	p, err := findSSHPeers(proc, DefaultSSHPort, 2222)
	want := []string{"203.0.113.7", "203.0.113.8", "203.0.113.9", "2001:db8:1::7"}
	if got := names(p); err != nil || p.More || !slices.Equal(got, want) {
		t.Errorf("%v, %v, %v; want %v", got, p.More, err, want)
	}
}

func names(p SSHPeers) (all []string) {
	for _, a := range p.Addrs {
		all = append(all, a.String())
	}
	return all
}

// Without the port, a process of an ssh server finds its peers: one of root's, for
// anybody can call a program sshd.
func TestProcesses(t *testing.T) {
	t.Parallel()
	link := func(inode int) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "socket:[%d]", inode), Mode: fs.ModeSymlink}
	}
	proc := fstest.MapFS{
		"net/tcp": file(head +
			line(t, "192.0.2.1:2200", "203.0.113.7:50000", "01", 10) +
			line(t, "192.0.2.1:2201", "203.0.113.8:50000", "01", 11) +
			line(t, "192.0.2.1:443", "198.51.100.8:50000", "01", 12) +
			line(t, "192.0.2.1:443", "198.51.100.9:50000", "01", 13)),
		"70/comm": file("sshd-session\n"), "70/status": file("Name:\tsshd-session\nUid:\t0\t0\t0\t0\n"), "70/fd/4": link(10), "70/fd/0": link(0),
		"71/comm": file("dropbear\n"), "71/status": file("Uid:\t0\t0\t0\t0\n"), "71/fd/5": link(11),
		"72/comm": file("sshd\n"), "72/status": file("Uid:\t1000\t1000\t1000\t1000\n"), "72/fd/3": link(12),
		"73/comm": file("nginx\n"), "73/status": file("Uid:\t0\t0\t0\t0\n"), "73/fd/3": link(13),
		"74/comm": file("sshd\n"), // it ended
	}
	p, err := findSSHPeers(proc)
	if got, want := names(p), []string{"203.0.113.7", "203.0.113.8"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// What is returned is bounded, and a table that is not the kernel's finds nothing.
func TestBounds(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(head)
	for i := range Most + 1 {
		b.WriteString(line(t, "192.0.2.1:22", netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}), 1).String(), "01", 1))
	}
	p, err := findSSHPeers(fstest.MapFS{"net/tcp": file(b.String())}, DefaultSSHPort)
	if err != nil || !p.More || len(p.Addrs) != Most {
		t.Errorf("%d peers, more %v, %v", len(p.Addrs), p.More, err)
	}
	for _, bad := range []string{"", "x", head + " 0: 0100007F 0100007F 01 0 0 0 0 0 0\n", " 0: 01000:0016 0100007F:0016 01 a b c d e f\n", " 0: zz00007F:0016 0100007F:0016 01 a b c d e f\n"} {
		if p, err := findSSHPeers(fstest.MapFS{"net/tcp": file(bad)}, DefaultSSHPort); err != nil || len(p.Addrs) > 0 {
			t.Errorf("%q: %v, %v", bad, p, err)
		}
	}
	if _, err := findSSHPeers(fstest.MapFS{}, DefaultSSHPort); err == nil {
		t.Error("no error without /proc")
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"203.0.113.7 50000 192.0.2.1 22": "203.0.113.7", "2001:db8::7 50000 2001:db8::1 22": "2001:db8::7",
		"::ffff:203.0.113.7 1 ::1 22": "203.0.113.7", "fe80::1%eth0 1 fe80::2%eth0 22": "fe80::1",
		"": "", "x": "", "127.0.0.1 1 127.0.0.1 22": "", "0.0.0.0/0 1 2 3": "",
	} {
		a, ok := SSHCaller(given)
		if ok != (want != "") || ok && a.String() != want {
			t.Errorf("%q: %v, %v; want %q", given, a, ok, want)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add(head + "   0: 0100007F:0016 0200007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n")
	f.Fuzz(func(t *testing.T, table string) {
		found := make(map[netip.Addr]bool)
		is := wanted{ports: []uint16{DefaultSSHPort}}
		_, _ = is.scan(strings.NewReader(table), found)
		for a := range found {
			if !a.IsValid() || a.Is4In6() || a.IsLoopback() {
				t.Errorf("%v of %q", a, table)
			}
		}
	})
}
