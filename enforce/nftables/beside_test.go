//go:build linux

package nftables

import (
	"fmt"
	"os/exec"
	"testing"
	"time"
)

const guest4 = "172.17.0.2" // a container on a bridge of the host

// contain adds a container to the host, which forwards to it.
func (b *bed) contain() {
	b.t.Helper()
	guest := newNamespace(b.t)
	b.host.run("ip", "link", "add", "docker0", "type", "bridge")
	b.host.run("ip", "addr", "add", "172.17.0.1/16", "dev", "docker0")
	b.host.run("ip", "link", "add", "guest", "type", "veth", "peer", "name", "eth0", "netns", guest.pid)
	b.host.run("ip", "link", "set", "guest", "master", "docker0")
	b.host.run("ip", "link", "set", "guest", "up")
	b.host.run("ip", "link", "set", "docker0", "up")
	guest.run("ip", "addr", "add", guest4+"/16", "dev", "eth0")
	guest.run("ip", "link", "set", "eth0", "up")
	guest.isUp("eth0")
	b.host.isUp("docker0")
	guest.run("ip", "route", "add", "default", "via", "172.17.0.1")
	b.host.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
	b.outside.run("ip", "route", "add", "172.17.0.0/16", "via", host4)
	b.listen(guest, port)
}

// arrives waits until a datagram arrived.
func (b *bed) arrives(from, to string, port uint16) {
	b.t.Helper()
	text := b.sendTo(from, to, port)
	for deadline := time.Now().Add(patience); !b.has(text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("a datagram from %s to %s port %d does not arrive\n%s", from, to, port, b.host.run("nft", "list", "ruleset"))
		}
	}
}

// Beside the rules of others, packets of a blocked address are dropped, everybody else's
// pass and are refused as without us, and their rules stay as they were.
func TestBesideOthers(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"iptables-restore", "ip6tables-restore"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: install iptables", program)
		}
	}
	const (
		docker    = "iptables-restore --noflush testdata/docker.v4"
		ufw       = "iptables-restore --noflush testdata/ufw.v4 && ip6tables-restore --noflush testdata/ufw.v6"
		firewalld = "nft -f testdata/firewalld.nft"
	)
	for name, others := range map[string]struct {
		load            string
		docker, refuses bool
	}{
		"docker": {docker, true, false}, "ufw": {ufw, false, true}, "firewalld": {firewalld, false, true},
		"docker and ufw": {docker + " && " + ufw, true, true}, "docker and firewalld": {docker + " && " + firewalld, true, true},
	} {
		for _, device := range []string{"", "eth0"} {
			t.Run(fmt.Sprintf("%s, device %q", name, device), func(t *testing.T) {
				t.Parallel()
				b := newBed(t)
				b.contain()
				b.listen(b.host, 9997)
				b.host.run("sh", "-c", others.load)
				theirs := b.host.run("nft", "-s", "list", "ruleset")
				e := b.new(Config{Device: device})
				b.replace(e, nil)
				innocent := func(neighbour4, neighbour6 string) {
					t.Helper()
					if others.docker {
						b.arrives(neighbour4, host4, 9998)
					}
					var refused []string
					if others.refuses {
						refused = []string{b.sendTo(neighbour4, host4, 9997), b.sendTo(neighbour6, host6, 9997)}
					}
					b.arrives(neighbour4, host4, port)
					b.arrives(neighbour6, host6, port)
					for _, text := range refused {
						if b.has(text) {
							t.Errorf("%s: we opened what others refuse", text)
						}
					}
				}
				innocent("203.0.113.8", "2001:db8:0:1::8")
				b.replace(e, hour("203.0.113.7/32", "198.51.100.0/24", "2001:db8::/64"))
				b.want(e, true, "203.0.113.7", "198.51.100.9", "2001:db8::9")
				if !b.dropsTo(e, "203.0.113.7", host4, 9998) || !b.dropsTo(e, "198.51.100.9", host4, 9997) {
					t.Error("a published or a closed port takes packets of a blocked address")
				}
				innocent("203.0.113.8", "2001:db8:0:1::8")
				b.replace(e, nil)
				innocent("203.0.113.7", "2001:db8::9")
				if err := e.kernel.clear("edgeguard"); err != nil {
					t.Fatal(err)
				}
				if after := b.host.run("nft", "-s", "list", "ruleset"); after != theirs {
					t.Errorf("their rules were\n%s\nand are\n%s", theirs, after)
				}
				innocent("203.0.113.7", "2001:db8::9")
			})
		}
	}
}

// What the host routes elsewhere passes, unless forward is true.
func TestForward(t *testing.T) {
	t.Parallel()
	for _, device := range []string{"", "eth0"} {
		b := newBed(t)
		b.contain()
		for _, forward := range []bool{false, true, false} {
			e := b.new(Config{Device: device, Forward: forward})
			b.replace(e, hour("203.0.113.7/32"))
			b.want(e, true, "203.0.113.7")
			if got := b.dropsTo(e, "203.0.113.7", guest4, port); got != forward {
				t.Errorf("device %q, forward %t: what goes to another host is dropped: %t", device, forward, got)
			}
			b.arrives("203.0.113.8", guest4, port)
		}
	}
}
