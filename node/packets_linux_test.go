package node

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgeguard/admin"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
)

// packets counts packets of an interface that is not there yet.
const packets = `
node: test
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
state: $DIR/state
sensors: {packet: {interface: [near, lo], inside: [192.0.2.0/24], ring: 1MiB}}
rules:
  - {name: attempts, match: {kind: syn}, threshold: 10, guard: 1}
  - {name: connections, match: {kind: handshake}, threshold: 10, guard: 1}
`

// Handshakes block, SYNs raise an alarm: anyone can send these in another's name. An interface that is
// not there, or goes, is waited for, and what it showed stays counted.
func TestPackets(t *testing.T) {
	const inside = "EDGEGUARD_TEST_NETWORK"
	if os.Getenv(inside) == "" {
		for _, program := range []string{"unshare", "ip"} {
			if _, err := exec.LookPath(program); err != nil || os.Getuid() != 0 {
				t.Skip("needs root, unshare and ip: install util-linux and iproute2")
			}
		}
		if err := exec.Command("unshare", "--net", "true").Run(); err != nil {
			t.Skipf("no network namespace here: %v", err)
		}
		c := exec.Command("unshare", "--net", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), inside+"=yes")
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	u := newNode(t, shortDir(t), packets).start()
	u.eventually("it is missed", func() bool { return u.misses("near") })
	source := func() (s admin.Source) {
		for _, s = range u.view().Stats().Sources {
			if s.Name == "packets near" {
				break
			}
		}
		return s
	}
	for round := range uint64(2) {
		w := newPair(t)
		u.eventually("it is there", func() bool { return !u.misses("near") })
		for i := range uint32(11) {
			w.send("far", "203.0.113.9:4000", "192.0.2.1:80", 2, i, 0) // SYN
			w.send("far", "198.51.100.7:4000", "192.0.2.1:443", 2, 1000*i, 0)
			w.send("near", "192.0.2.1:443", "198.51.100.7:4000", 18, 7000*i, 1000*i+1)  // SYN, ACK
			w.send("far", "198.51.100.7:4000", "192.0.2.1:443", 16, 1000*i+1, 7000*i+1) // ACK
		}
		u.eventually("all is counted", func() bool { return source().Events == (round+1)*33 })
		u.eventually("the connections block", func() bool { return u.blocked("198.51.100.7") })
		u.eventually("the SYNs are an alarm", func() bool {
			return strings.Contains(u.log.String(), "203.0.113.9 exceeded the limit of rule attempts and is not blocked")
		})
		if u.blocked("203.0.113.9") || u.blocked("192.0.2.1") {
			t.Error("blocked for what anyone can send, or one inside")
		}
		w.ip("link", "delete", "near")
		u.eventually("it is missed again", func() bool { return u.misses("near") })
	}
	if s := source(); s.Dropped != 0 || s.Kind != "packets" || s.At != "near" {
		t.Errorf("%+v", s)
	}
}

// Dropped packets are an alarm, once for those of a second, and what a reader before this one dropped counts.
func TestDroppedPackets(t *testing.T) {
	u := newNode(t, shortDir(t), strings.Replace(packets, "near, lo", "none0", 1))
	g := &packetGroup{logDeps: u.logs.logDeps, Group: supervisor.Group[*packetSource]{Config: supervisor.Config{Alarms: u.alarms, Now: u.clock.Now}}}
	c, err := u.load()
	if err != nil {
		t.Fatal(err)
	}
	g.Settle(t.Context(), c)
	defer g.Stop()
	dropped := func(n uint64) (texts []string) {
		s := g.All()[0]
		s.mu.Lock()
		s.past.dropped = n
		s.mu.Unlock()
		g.check(u.clock.Now())
		for _, a := range u.alarms.Reported() {
			if a.Kind == alarm.Loss {
				texts = append(texts, a.Text)
			}
		}
		return texts
	}
	if texts := dropped(0); len(texts) != 0 {
		t.Errorf("nothing was dropped: %q", texts)
	}
	if texts := dropped(7); len(texts) != 1 || !strings.Contains(texts[0], "packets none0: 7 packets were dropped") || !strings.Contains(texts[0], "sensors.packet.ring") {
		t.Errorf("7 were dropped: %q", texts)
	}
	if g.All()[0].dropped != 7 {
		t.Error("they are not known a second later")
	}
}

// misses reports whether an alarm says that an interface is not there.
func (u *underTest) misses(name string) bool {
	stats := u.view().Stats()
	return slices.ContainsFunc(stats.Alarms(), func(a admin.Alarm) bool {
		return strings.Contains(a.Text, name) && strings.Contains(a.Text, "waited for")
	})
}

// pair is two interfaces, far and near, at the ends of one wire.
type pair struct {
	t  *testing.T
	fd int
}

func newPair(t *testing.T) *pair {
	w := &pair{t: t}
	w.ip("link", "add", "far", "type", "veth", "peer", "name", "near")
	for _, end := range []string{"far", "near"} {
		_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+end+"/disable_ipv6", []byte("1"), 0)
		w.ip("link", "set", end, "up")
	}
	for end := time.Now().Add(patience); strings.Count(w.ip("-o", "link"), " state UP ") < 2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	var err error
	if w.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(w.fd) })
	return w
}

func (w *pair) ip(argv ...string) string {
	w.t.Helper()
	out, err := exec.Command("ip", argv...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("ip %v: %v: %s", argv, err, out)
	}
	return string(out)
}

// send sends a TCP packet from an end.
func (w *pair) send(end, from, to string, flags byte, seq, ack uint32) {
	w.t.Helper()
	i, err := net.InterfaceByName(end)
	if err != nil {
		w.t.Fatal(err)
	}
	source, dest := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	b := make([]byte, 54)
	b[12], b[14], b[17], b[23], b[46], b[47] = 8, 0x45, 40, 6, 0x50, flags
	copy(b[26:], source.Addr().AsSlice())
	copy(b[30:], dest.Addr().AsSlice())
	binary.BigEndian.PutUint16(b[34:], source.Port())
	binary.BigEndian.PutUint16(b[36:], dest.Port())
	binary.BigEndian.PutUint32(b[38:], seq)
	binary.BigEndian.PutUint32(b[42:], ack)
	if err := unix.Sendto(w.fd, b, 0, &unix.SockaddrLinklayer{Ifindex: i.Index}); err != nil {
		w.t.Fatal(err)
	}
}
