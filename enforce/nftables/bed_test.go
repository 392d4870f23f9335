//go:build linux

package nftables

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edgeguard/internal/program"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	program.Parallel(8)
	goleak.VerifyTestMain(m)
}

// patience bounds every wait for something that must come.
const patience = time.Minute

// namespace is a network of the test's own: a packet filter set up wrongly in it harms
// nobody.
type namespace struct {
	t   testing.TB
	pid string
	fd  int
}

func newNamespace(t testing.TB) *namespace {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
	for program, of := range map[string]string{"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "nft": "nftables"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: install %s", program, of)
		}
	}
	c := exec.Command("unshare", "--net", "sh", "-c", "echo there; exec sleep 600")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	if n, _ := out.Read(make([]byte, 16)); n == 0 {
		t.Skip("no network namespace here: unshare does not work")
	}
	n := &namespace{t: t, pid: strconv.Itoa(c.Process.Pid)}
	if n.fd, err = unix.Open("/proc/"+n.pid+"/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(n.fd) })
	n.run("ip", "link", "set", "lo", "up")
	return n
}

// try runs a command inside.
func (n *namespace) try(argv ...string) (string, error) {
	out, err := exec.Command("nsenter", append([]string{"--net=/proc/" + n.pid + "/ns/net", "--"}, argv...)...).CombinedOutput()
	return string(out), err
}

func (n *namespace) run(argv ...string) string {
	n.t.Helper()
	out, err := n.try(argv...)
	if err != nil {
		n.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return out
}

// isUp waits until a link carries packets.
func (n *namespace) isUp(device string) {
	n.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(n.run("ip", "-o", "link", "show", "dev", device), " state UP "); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("%s does not come up", device)
		}
	}
}

// load has nft read a text.
func (n *namespace) load(rules string) {
	n.t.Helper()
	file := filepath.Join(n.t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.run("nft", "-f", file)
}

// do calls f on a thread that is inside. Sockets that f makes stay inside.
func (n *namespace) do(f func() error) {
	n.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		n.t.Fatal(err)
	}
}

// bed is a host with a packet filter, and a network outside of it that sends from any
// address.
type bed struct {
	t             testing.TB
	host, outside *namespace

	mu      sync.Mutex // guards what follows
	sent    int
	arrived map[string]bool
}

const (
	host4, host6 = "192.0.2.1", "2001:db8:ffff::1"
	port         = 9999
)

func newBed(t testing.TB) *bed {
	b := &bed{t: t, host: newNamespace(t), outside: newNamespace(t), arrived: make(map[string]bool)}
	b.host.run("ip", "link", "add", "eth0", "address", "02:00:00:00:00:01", "type", "veth", "peer", "name", "wan", "netns", b.outside.pid)
	for _, address := range []string{host4 + "/24", host6 + "/64"} {
		b.host.run("ip", "addr", "add", address, "dev", "eth0", "nodad")
	}
	b.host.run("ip", "link", "set", "eth0", "up")
	for _, address := range []string{"192.0.2.254/24", "2001:db8:ffff::254/64"} {
		b.outside.run("ip", "addr", "add", address, "dev", "wan", "nodad")
	}
	b.outside.run("ip", "link", "set", "wan", "up")
	b.host.isUp("eth0")
	b.outside.isUp("wan")
	for _, address := range []string{host4, host6} { // a datagram that waits for an answer to a question may be dropped
		b.outside.run("ip", "neigh", "replace", address, "lladdr", "02:00:00:00:00:01", "dev", "wan", "nud", "permanent")
	}
	b.host.run("ip", "route", "add", "default", "via", "192.0.2.254")
	b.host.run("ip", "-6", "route", "add", "default", "via", "2001:db8:ffff::254")
	b.listen(b.host, port)
	return b
}

// listen notes what arrives in a namespace.
func (b *bed) listen(in *namespace, port int) {
	in.do(func() error {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{Port: port})
		if err != nil {
			return err
		}
		done := make(chan struct{})
		b.t.Cleanup(func() { _ = conn.Close(); <-done })
		go func() {
			defer close(done)
			for text := make([]byte, 64); ; {
				n, _, err := conn.ReadFrom(text)
				if err != nil {
					return
				}
				b.mu.Lock()
				b.arrived[string(text[:n])] = true
				b.mu.Unlock()
			}
		}()
		return nil
	})
}

// send sends a datagram from an address, and returns what is in it.
func (b *bed) send(from, to string) string { return b.sendTo(from, to, port) }

func (b *bed) sendTo(from, to string, port uint16) string {
	b.t.Helper()
	b.mu.Lock()
	b.sent++
	text := fmt.Sprintf("%s %d", from, b.sent)
	b.mu.Unlock()
	b.outside.do(func() error {
		conn, err := free.ListenPacket(b.t.Context(), "udp", net.JoinHostPort(from, "0"))
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.WriteTo([]byte(text), net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(to), port)))
		return err
	})
	return text
}

// free has a socket send from any address.
var free = net.ListenConfig{Control: func(network, _ string, c syscall.RawConn) (err error) {
	control := c.Control(func(fd uintptr) {
		if strings.HasSuffix(network, "6") {
			err = unix.SetsockoptInt(int(fd), unix.SOL_IPV6, unix.IPV6_TRANSPARENT, 1)
		} else {
			err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_TRANSPARENT, 1)
		}
	})
	if err != nil {
		return err
	}
	return control
}}

func (b *bed) has(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.arrived[text]
}

// to returns the host's address of a sender's family.
func to(from string) string {
	if strings.Contains(from, ":") {
		return host6
	}
	return host4
}

// drops sends from an address, and reports whether the host drops that: it waits until
// the datagram has arrived or is counted.
func (b *bed) drops(e *Filter, from string) bool { return b.dropsTo(e, from, to(from), port) }

func (b *bed) dropsTo(e *Filter, from, to string, port uint16) bool {
	b.t.Helper()
	before := b.counts(e).Dropped
	text := b.sendTo(from, to, port)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		switch {
		case b.has(text):
			return false
		case b.counts(e).Dropped > before:
			return true
		case time.Now().After(deadline):
			b.t.Fatalf("a datagram from %s neither arrived nor was counted\n%s", from, b.host.run("nft", "list", "ruleset"))
		}
	}
}

func (b *bed) counts(e *Filter) (counts Counts) {
	b.t.Helper()
	err := e.locked(b.t.Context(), func() error {
		c, err := e.kernel.connect()
		if err == nil {
			counts, err = count(c, layout{config: e.config}.table())
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return counts
}

// new returns an enforcer of the host.
func (b *bed) new(c Config) *Filter { return b.host.filter(c) }

func (n *namespace) filter(c Config) *Filter {
	n.t.Helper()
	if c.Table == "" {
		c.Table = "edgeguard"
	}
	e, err := New(c)
	if err != nil {
		n.t.Fatal(err)
	}
	e.kernel.netns = n.fd
	n.t.Cleanup(func() { _ = e.Close() })
	return e
}
