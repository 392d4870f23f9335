package accesslog

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const prefix = "<134>Nov 23 03:00:00 web1 nginx: "

// drainPatience bounds every wait for something that must happen.
const drainPatience = 30 * time.Second

func udp(t *testing.T, address string, buffer int, from ...netip.Prefix) *datagramSocket {
	t.Helper()
	s, err := listenUDP(address, from, buffer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// sendFrom sends datagrams from an address of this host.
func sendFrom(t *testing.T, s *datagramSocket, source string, texts ...string) {
	t.Helper()
	c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(source)}, s.Addr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, text := range texts {
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// sum is what batches contained together.
type sum struct {
	lines        []string
	cut, refused int
	dropped      uint32
}

// read reads until so many datagrams were seen. Loopback delivers before the
// sender returns, so that none is still on its way.
func read(t *testing.T, s *datagramSocket, datagrams int) sum {
	t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(drainPatience)); err != nil {
		t.Fatal(err)
	}
	var all sum
	buf := make([]byte, longestDatagram+64<<10)
	for seen := 0; seen < datagrams; {
		b, err := s.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen += b.Count + b.Refused
		all.refused += b.Refused
		all.cut += b.Cut
		if b.Dropped != 0 {
			all.dropped = b.Dropped
		}
		if lines := strings.Split(string(b.Lines()), "\n"); len(lines) != b.Count+1 {
			t.Fatalf("%d lines of %d datagrams", len(lines)-1, b.Count)
		} else {
			all.lines = append(all.lines, lines[:b.Count]...)
		}
	}
	return all
}

// Either header of syslog is taken off. What has none is refused: so text that a
// web page makes a server send elsewhere, such as by TFTP, is no line.
func TestUDPHeaders(t *testing.T) {
	s := udp(t, "127.0.0.1:0", 0)
	sendFrom(t, s, "127.0.0.1",
		prefix+"a", "<134>Nov  3 03:00:00 haproxy[7]: b\x00", "<134>1 2026-11-23T03:00:00.123+00:00 web1 haproxy 7 - - c\r\n",
		"192.0.2.1 - - no header", "\x00\x01"+prefix+"tftp\x00octet\x00", "", "\x00", "<", strings.Repeat("\x00", 60000), prefix+"d\n"+prefix+"e")
	got := read(t, s, 10)
	want := []string{"a", "b", "c", "<", "d " + prefix + "e"}
	if fmt.Sprint(got.lines) != fmt.Sprint(want) || got.refused != 5 {
		t.Errorf("%q, %d refused", got.lines, got.refused)
	}
}

// The longest datagram that UDP carries is one line, and none is cut.
func TestUDPGiant(t *testing.T) {
	const longest = 65507
	s := udp(t, "127.0.0.1:0", 0)
	giant := prefix + strings.Repeat("x", longest-len(prefix))
	for range 20 {
		sendFrom(t, s, "127.0.0.1", giant, prefix+"small")
		got := read(t, s, 2)
		if len(got.lines) != 2 || len(got.lines[0]) != longest-len(prefix) || got.lines[1] != "small" || got.cut != 0 {
			t.Fatalf("%d lines, %d cut", len(got.lines), got.cut)
		}
	}
}

// Other addresses than loopback require the senders, and loopback has none to
// name.
func TestUDPRequiresSenders(t *testing.T) {
	some := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for address, from := range map[string][]netip.Prefix{"0.0.0.0:0": nil, "[::]:0": nil, ":0": nil, "127.0.0.1:0": some, "[::1]:0": some} {
		if s, err := listenUDP(address, from, 0); err == nil {
			_ = s.Close()
			t.Errorf("%s from %v is accepted", address, from)
		} else if !strings.Contains(err.Error(), "from") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if s := udp(t, "0.0.0.0:0", 0, some...); !s.Forgeable {
		t.Error("what other hosts send is not forgeable")
	}
	if s := udp(t, "127.0.0.1:0", 0); s.Forgeable {
		t.Error("what this host sends is forgeable")
	}
}

// Senders that are not named are counted and not read, also where the socket is of
// both families and IPv4 arrives as IPv6.
func TestUDPFrom(t *testing.T) {
	addresses := []string{"0.0.0.0:0"}
	if c, err := net.ListenPacket("udp6", "[::1]:0"); err == nil { // else this host has no IPv6
		_ = c.Close()
		addresses = append(addresses, "[::]:0")
	}
	for _, address := range addresses {
		s := udp(t, address, 0, netip.MustParsePrefix("127.0.0.2/32"))
		port := s.Addr().(*net.UDPAddr).Port
		at := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
		for _, source := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"} {
			c, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(source)}, at)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(c, prefix, source)
			_ = c.Close()
		}
		if got := read(t, s, 3); got.refused != 2 || len(got.lines) != 1 || got.lines[0] != "127.0.0.2" {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

// A flood of refused datagrams holds no line back: a batch ends.
func TestUDPRefusedEndABatch(t *testing.T) {
	b := datagramBatch{udp: true, buf: make([]byte, longestDatagram+64<<10)}
	copy(b.room(), "no header")
	n := 0
	for ; b.room() != nil; n++ {
		b.take(9, netip.Addr{})
	}
	if n != mostAtOnce || b.Refused != n || b.Count != 0 || len(b.Lines()) != 0 {
		t.Errorf("%d taken, %+v", n, b.Refused)
	}
}

// What a full receive buffer drops is counted to the datagram, and the buffer is
// as large as the kernel says.
func TestUDPCountsDrops(t *testing.T) {
	const asked, sent = 16 << 10, 2000
	s := udp(t, "127.0.0.1:0", asked)
	if s.Buffer != asked {
		t.Errorf("a buffer of %d bytes instead of %d", s.Buffer, asked)
	}
	c, err := net.DialUDP("udp", nil, s.Addr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range sent {
		fmt.Fprint(c, prefix, i)
	}
	s.Interrupt()
	b, err := s.Read(make([]byte, 1<<20))
	if err == nil || b.Count == 0 || b.Count >= sent || b.Dropped != 0 {
		t.Fatalf("%d of %d before any drop was known, %v, %d dropped", b.Count, sent, err, b.Dropped)
	}
	fmt.Fprint(c, prefix, "last")
	after := read(t, s, 1)
	if int(after.dropped)+b.Count != sent {
		t.Errorf("%d lines and %d dropped of %d", b.Count, after.dropped, sent)
	}
}

// An interrupted socket still returns what had arrived.
func TestInterrupt(t *testing.T) {
	s := udp(t, "127.0.0.1:0", 0)
	sendFrom(t, s, "127.0.0.1", prefix+"a", prefix+"b")
	s.Interrupt()
	b, err := s.Read(make([]byte, longestDatagram+2+100))
	if err == nil || b.Count == 0 {
		t.Errorf("%d datagrams, %v", b.Count, err)
	}
}

// FuzzDatagram holds that a datagram never becomes more than one line.
func FuzzDatagram(f *testing.F) {
	f.Add([]byte("<190>Nov 21 08:17:11 eg: 192.0.2.1 - -"), true)
	f.Add([]byte("a\nb\n\n\r\n\x00"), false)
	from := netip.MustParseAddr("127.0.0.1")
	f.Fuzz(func(t *testing.T, text []byte, udp bool) {
		b := datagramBatch{udp: udp, from: loopback, buf: make([]byte, 3*longestDatagram)}
		for range 2 {
			copy(b.room(), text)
			b.take(len(text), from)
		}
		if lines := bytes.Count(b.Lines(), []byte("\n")); lines != b.Count || b.Count+b.Refused != 2 || b.used > 2*(len(text)+1) {
			t.Fatalf("%d lines of %d datagrams, %d refused: %q", lines, b.Count, b.Refused, b.Lines())
		}
	})
}
