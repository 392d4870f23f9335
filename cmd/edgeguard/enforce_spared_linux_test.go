package main

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// doInside calls f on a thread that is inside a network. Sockets that f makes stay inside.
func doInside(t *testing.T, network string, f func() error) error {
	t.Helper()
	fd, err := unix.Open(network, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// outside gives the host a cable, with clients at its other end.
func (h *netHost) outside() (network string) {
	h.t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		h.t.Skip("needs ip: install iproute2")
	}
	c := exec.Command("unshare", "--net", "sh", "-c", "echo there; exec sleep 600")
	out, err := c.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	if n, _ := out.Read(make([]byte, 16)); n == 0 {
		h.t.Fatal("no second network namespace")
	}
	pid := strconv.Itoa(c.Process.Pid)
	network = "/proc/" + pid + "/ns/net"
	for _, line := range []string{
		"ip link add eth0 type veth peer name eth0 netns " + pid, "ip address add 192.0.2.1/24 dev eth0", "ip link set eth0 up", "ip route add 198.51.100.0/24 dev eth0",
		"nsenter --net=" + network + " ip address add 198.51.100.7/32 dev eth0", "nsenter --net=" + network + " ip address add 198.51.100.8/32 dev eth0",
		"nsenter --net=" + network + " ip link set eth0 up", "nsenter --net=" + network + " ip route add 192.0.2.0/24 dev eth0",
	} {
		if out, err := h.inside(strings.Fields(line)...); err != nil {
			h.t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	return network
}

// dial connects to the host's port of ssh from an address.
func dial(t *testing.T, network, from string, patience time.Duration) (c net.Conn, err error) {
	t.Helper()
	err = doInside(t, network, func() (err error) {
		d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0)), Timeout: patience}
		c, err = d.DialContext(context.Background(), "tcp4", "192.0.2.1:22")
		return err
	})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// echoes fails unless what is sent comes back.
func echoes(t *testing.T, when string, c net.Conn) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
}

// Who holds a connection to ssh's port is let in during a trial, by that connection and
// by new ones; who does not is dropped.
func TestEnforceSpared(t *testing.T) {
	h := newNetHost(t)
	network := h.outside()
	var sshd net.Listener
	if err := doInside(t, h.network, func() (err error) { sshd, err = net.Listen("tcp4", "192.0.2.1:22"); return err }); err != nil {
		t.Fatal(err)
	}
	defer sshd.Close()
	go func() {
		for {
			c, err := sshd.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }() // until the client closes
		}
	}()
	session, err := dial(t, network, "198.51.100.7", patience)
	if err != nil {
		t.Fatal(err)
	}
	echoes(t, "before the block", session)
	h.must("blocks", "add", "198.51.100.0/24", "--for", "1h", "--force")
	h.until("the network is dropped", func() bool {
		out, _ := h.inside("nft", "list", "set", "inet", "edgeguard", "blocked4_24")
		return strings.Contains(out, "198.51.100.0")
	})
	if c, err := dial(t, network, "198.51.100.7", time.Second); err == nil {
		t.Errorf("before the trial %v is let in", c.LocalAddr())
	}
	if out := h.must("enforce", "try", "1h"); !strings.Contains(out, "Spared meanwhile: 198.51.100.7\n") {
		t.Errorf("the session is not spared: %s", out)
	}
	h.until("the network is dropped on trial", func() bool {
		out, _ := h.inside("nft", "list", "set", "inet", "edgeguard", "blocked4_24")
		return strings.Contains(out, "198.51.100.0")
	})
	echoes(t, "the session during the trial", session)
	again, err := dial(t, network, "198.51.100.7", patience)
	if err != nil {
		t.Fatalf("a new connection during the trial: %v", err)
	}
	echoes(t, "a new connection during the trial", again)
	if c, err := dial(t, network, "198.51.100.8", time.Second); err == nil {
		t.Errorf("during the trial %v is let in", c.LocalAddr())
	}
	if out, err := h.inside("nft", "flush", "ruleset"); err != nil {
		t.Fatal(out)
	}
	h.until("the table is back after a foreign flush, with who is spared", func() bool {
		blocked, _ := h.inside("nft", "list", "set", "inet", "edgeguard", "blocked4_24")
		spared, _ := h.inside("nft", "list", "set", "inet", "edgeguard", "spared4")
		return strings.Contains(blocked, "198.51.100.0") && strings.Contains(spared, "198.51.100.7")
	})
	echoes(t, "the session after a foreign flush", session)
	h.must("enforce", "clear")
	if _, err := dial(t, network, "198.51.100.8", patience); err != nil {
		t.Errorf("after clear: %v", err)
	}
}
