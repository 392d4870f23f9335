package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgeguard"
)

// scan is n SYNs from outside, of an address each.
func scan(t testing.TB, n int) []frame {
	b := newBuilder(t, linkEthernet)
	b.tcp(tcp{from: "203.0.113.1:4000", to: "192.0.2.1:80", flags: "S", seq: 1})
	one := b.file.Bytes()[pcapHeader+16:]
	frames := make([]frame, n)
	for i := range frames {
		data := append([]byte{}, one...)
		binary.BigEndian.PutUint32(data[26:], 203<<24|113<<8+uint32(i)) // the source
		frames[i] = frame{"far", data}
	}
	return frames
}

// What finds the ring full is counted, to the packet.
func TestLossIsExact(t *testing.T) {
	const sent = 30000
	w := newWire(t)
	r := w.live(LiveOptions{Memory: 2 * blockSize}, Options{Kinds: LiveKinds, Local: inside})
	w.send(scan(t, sent)) // nobody takes events: all buffers fill up
	dropped := r.Stats().Dropped
	if dropped == 0 {
		t.Fatal("nothing was dropped")
	}
	events := w.until(r, sent)
	if s := r.Stats(); s.Packets+s.Dropped != sent || uint64(len(events)) != s.Packets || s.Dropped < dropped {
		t.Errorf("%d events, %+v: of %d packets", len(events), s, sent)
	}
}

// Without prefixes the kernel says what this host sends. A SYN-ACK that comes in is no answer of a server
// here, so that nobody's handshake can be made up by it.
func TestKernelSaysTheWay(t *testing.T) {
	for _, answers := range []string{"near", "far"} {
		t.Run(answers, func(t *testing.T) {
			b := newBuilder(t, linkEthernet)
			b.tcp(tcp{from: "192.0.2.1:443", to: "203.0.113.7:4000", flags: "SA", seq: 8, ack: 1})
			b.tcp(tcp{from: "203.0.113.7:4000", to: "192.0.2.1:443", flags: "A", seq: 1, ack: 9})
			b.tcp(tcp{from: "192.0.2.1:4000", to: "203.0.113.7:443", flags: "S", seq: 1})
			var frames []frame
			p, err := openPcap(newWindow(&b.file))
			if err != nil {
				t.Fatal(err)
			}
			for _, end := range []string{answers, "far", "near"} {
				var r record
				if err := p.next(&r); err != nil {
					t.Fatal(err)
				}
				frames = append(frames, frame{end, append([]byte{}, r.data...)})
			}
			w := newWire(t)
			r := w.live(LiveOptions{}, Options{Kinds: LiveKinds})
			w.send(frames)
			events := w.until(r, uint64(len(frames)))
			if answers == "far" {
				if len(events) != 0 {
					t.Errorf("a forged SYN-ACK made %+v", events)
				}
				return
			}
			if len(events) != 1 || events[0].Verified != edgeguard.KindHandshake || events[0].Addr.String() != "203.0.113.7" {
				t.Errorf("events %+v", events)
			}
		})
	}
}

// On a loopback each packet is seen once.
func TestLoopbackOnce(t *testing.T) {
	w := newWire(t)
	w.run("ip", "link", "set", "lo", "up")
	r, err := Live(LiveOptions{Interface: "lo"}, Options{Kinds: edgeguard.KindUDP})
	if err != nil {
		t.Fatal(err)
	}
	const sent = 10
	c, err := net.ListenUDP("udp", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range sent {
		if _, err := c.WriteTo([]byte("x"), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}); err != nil {
			t.Fatal(err)
		}
	} // refused by ICMP, which is seen once each, too
	events := w.until(r, 2*sent)
	if s := r.Stats(); len(events) != sent || s.Packets != 2*sent {
		t.Errorf("%d events, %+v", len(events), s)
	}
}

// What the kernel drops is seen all the same: the look at packets comes before every filter.
func TestSeenBeforeTheFilter(t *testing.T) {
	need(t, "nft", "nftables")
	w := newWire(t)
	w.run("nft", "add table netdev edge; add chain netdev edge in { type filter hook ingress device near priority -500; policy drop; }")
	r := w.live(LiveOptions{}, Options{Kinds: LiveKinds, Local: inside})
	w.send(scan(t, 100))
	if events := w.until(r, 100); len(events) != 100 {
		t.Errorf("%d events of 100 packets that are dropped", len(events))
	}
	out, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "policy drop") {
		t.Errorf("the filter was not there: %v\n%s", err, out)
	}
}

// An interface that goes away ends the reader with an error, and so does one that goes down.
func TestInterfaceGoes(t *testing.T) {
	for _, goes := range []string{"link set near down", "link delete near"} {
		w := newWire(t)
		r := w.live(LiveOptions{}, Options{Kinds: LiveKinds, Local: inside})
		w.send(scan(t, 3))
		w.run(append([]string{"ip"}, strings.Fields(goes)...)...)
		var seen int
		var err error
		for err == nil {
			var events []edgeguard.Event
			events, err = r.Next()
			seen += len(events)
		}
		if !errors.Is(err, unix.ENETDOWN) || !strings.Contains(err.Error(), "near") || !strings.Contains(err.Error(), "waited for") {
			t.Errorf("%s: %v", goes, err)
		}
		if seen != 3 {
			t.Errorf("%s: %d events of 3 before", goes, seen)
		}
		if r.Stats().Packets != 3 {
			t.Errorf("%s: %+v", goes, r.Stats())
		}
	}
}

func TestLiveRefuses(t *testing.T) {
	w := newWire(t)
	w.run("ip", "link", "add", "idle", "type", "veth", "peer", "name", "other")
	for name, want := range map[string]string{"none0": "no such interface; it is waited for", "idle": "is down; it is waited for"} {
		if _, err := Live(LiveOptions{Interface: name}, Options{Kinds: LiveKinds}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Live(LiveOptions{Interface: "near"}, Options{Kinds: edgeguard.KindRequest}); err == nil {
		t.Error("requests out of packets")
	}
	withoutRights(t, func() {
		if _, err := Live(LiveOptions{Interface: "near"}, Options{Kinds: LiveKinds}); !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "edgeguard snippets packet") {
			t.Errorf("without CAP_NET_RAW: %v", err)
		}
	})
}

// withoutRights calls f on this thread without capabilities.
func withoutRights(t *testing.T, f func()) {
	t.Helper()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	if err := unix.Capget(&head, &has[0]); err != nil {
		t.Fatal(err)
	}
	none := has
	none[0].Effective, none[1].Effective = 0, 0
	if err := unix.Capset(&head, &none[0]); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Capset(&head, &has[0]); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// A reader may be closed and looked at, at any time.
func TestLiveCloses(t *testing.T) {
	w := newWire(t)
	send := w.sender("far")
	frames := scan(t, 100)
	for i := range 20 {
		r := w.live(LiveOptions{}, Options{Kinds: LiveKinds, Local: inside})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = r.Close()
			r.Stats()
			_ = r.Close()
		}()
		for range i * 5 {
			send(frames[i].data)
		}
		for err := error(nil); err != io.EOF; {
			if _, err = r.Next(); err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}
		<-ended
	}
}

func FuzzBlock(f *testing.F) {
	b := make([]byte, 512)
	binary.NativeEndian.PutUint32(b[blockCount:], 2)
	binary.NativeEndian.PutUint32(b[blockFirst:], 48)
	binary.NativeEndian.PutUint32(b[48:], 160)
	binary.NativeEndian.PutUint32(b[48+12:], 60)
	binary.NativeEndian.PutUint16(b[48+24:], 82)
	f.Add(b)
	f.Add(b[:48+frameLeast])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < frameHeader {
			return
		}
		b := openBlock(data)
		var r record
		taken := uint32(0)
		for ; b.left > 0 && taken < 1000; taken++ {
			if err := b.take(&r); err != nil {
				if !errors.Is(err, errBlock) {
					t.Fatal(err)
				}
				return
			}
			if len(r.data) > len(data) || !r.timed || r.way == wayUnknown {
				t.Fatalf("%+v of %d bytes", r, len(data))
			}
		}
	})
}

// BenchmarkBlock is the work of one core on a ring's blocks, as BenchmarkDecode is on a file.
func BenchmarkBlock(b *testing.B) {
	const n = 1000
	p, err := openPcap(newWindow(bytes.NewReader(synthesize(n))))
	if err != nil {
		b.Fatal(err)
	}
	var r record
	data := make([]byte, 48, n*160)
	for range n {
		if err := p.next(&r); err != nil {
			b.Fatal(err)
		}
		h := make([]byte, 82, 160)
		binary.NativeEndian.PutUint32(h, 160)
		binary.NativeEndian.PutUint32(h[12:], uint32(len(r.data)))
		binary.NativeEndian.PutUint16(h[24:], 82)
		data = append(data, append(h, r.data...)[:160]...)
	}
	binary.NativeEndian.PutUint32(data[blockCount:], n)
	binary.NativeEndian.PutUint32(data[blockFirst:], 48)
	d, out := newDecoder(Options{Kinds: edgeguard.KindPacket}), newBatch()
	for b.Loop() {
		s := ring{link: linkEthernet, block: openBlock(data)}
		for range n {
			if err := s.next(&r); err != nil {
				b.Fatal(err)
			}
			d.decode(&r, out)
			if out.full() {
				out.reset()
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/packet")
}

// A tunnel of IP has packets without a link layer's header.
func TestTunnel(t *testing.T) {
	w := newWire(t)
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no tunnels here: %v", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("tun7")
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		t.Skipf("no tunnels here: %v", err)
	}
	w.silence("tun7")
	w.run("ip", "link", "set", "tun7", "up")
	r, err := Live(LiveOptions{Interface: "tun7"}, Options{Kinds: LiveKinds})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{udpPacket(t, from4, to4, "question"), tcpPacket(t, from6, to6, "data")} {
		if _, err := unix.Write(fd, p); err != nil {
			t.Fatal(err)
		}
	}
	if events := w.until(r, 2); len(events) == 0 || events[0].Addr != from4 || events[0].Kind != edgeguard.KindUDP || r.Stats().IP != 2 {
		t.Errorf("%+v, %+v", events, r.Stats())
	}
}

// A mirror port is asked for packets that are not for this host, for as long as it is listened to.
func TestPromiscuous(t *testing.T) {
	w := newWire(t)
	is := func() bool { return strings.Contains(w.run("ip", "-d", "link", "show", "near"), "promiscuity 1") }
	plain := w.live(LiveOptions{}, Options{Kinds: LiveKinds})
	if is() {
		t.Error("promiscuous without being asked")
	}
	r := w.live(LiveOptions{Promiscuous: true}, Options{Kinds: LiveKinds})
	if !is() {
		t.Error("not promiscuous")
	}
	w.until(r, 0)
	w.until(plain, 0)
	for end := time.Now().Add(patience); is(); time.Sleep(time.Millisecond) { // the ring goes last
		if time.Now().After(end) {
			t.Fatal("still promiscuous")
		}
	}
}
