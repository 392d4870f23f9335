package packet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket/layers"
	"golang.org/x/sys/unix"

	"edgeguard"
)

// patience bounds every wait for something that must come.
const patience = time.Minute

// inside is what is behind the interface near.
var inside = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8:1::/48")}

// wire is a network of the test's own with two interfaces, far and near, at the ends of one wire. What far
// sends comes in at near. The kernel itself sends nothing on it.
type wire struct {
	t testing.TB
}

func newWire(t testing.TB) *wire {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
	need(t, "ip", "iproute2")
	before, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	runtime.LockOSThread()
	t.Cleanup(func() {
		if err := unix.Setns(before, unix.CLONE_NEWNET); err == nil {
			runtime.UnlockOSThread() // else the thread ends with the test
		}
		_ = unix.Close(before)
	})
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	w := &wire{t}
	w.run("ip", "link", "add", "far", "type", "veth", "peer", "name", "near")
	for _, end := range []string{"far", "near"} {
		w.silence(end)
		w.run("ip", "link", "set", end, "up")
	}
	for end := time.Now().Add(patience); strings.Count(w.run("ip", "-o", "link"), " state UP ") < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the wire does not come up")
		}
	}
	return w
}

func need(t testing.TB, program, of string) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("needs %s: install %s", program, of)
	}
}

// silence keeps the kernel from looking for routers.
func (w *wire) silence(end string) {
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+end+"/disable_ipv6", []byte("1"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Skipf("no network namespace here: %v", err)
	}
}

// run runs a program inside.
func (w *wire) run(argv ...string) string {
	w.t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// sender returns a function that sends frames from an end.
func (w *wire) sender(end string) func([]byte) {
	w.t.Helper()
	i, err := net.InterfaceByName(end)
	if err != nil {
		w.t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		w.t.Skipf("no raw sockets here: %v", err)
	}
	w.t.Cleanup(func() { _ = unix.Close(fd) })
	to := &unix.SockaddrLinklayer{Ifindex: i.Index}
	return func(frame []byte) {
		if err := unix.Sendto(fd, frame, 0, to); err != nil {
			w.t.Fatalf("send %d bytes: %v", len(frame), err)
		}
	}
}

// live listens at near.
func (w *wire) live(l LiveOptions, o Options) *Reader {
	w.t.Helper()
	l.Interface = "near"
	r, err := Live(l, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = r.Close() })
	return r
}

// until closes a reader when it has seen so many packets, those that were dropped among them. It
// returns the events.
func (w *wire) until(r *Reader, packets uint64) []edgeguard.Event {
	w.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if s := r.Stats(); s.Packets+s.Dropped >= packets {
				break
			}
		}
		_ = r.Close()
	}()
	var all []edgeguard.Event
	for {
		events, err := r.Next()
		if err == io.EOF {
			<-done
			return all
		}
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, events...)
	}
}

// frame is one with the end that sends it.
type frame struct {
	from string
	data []byte
}

// traffic is connections from outside and from inside, scans, floods, VLANs, and what is no good.
func traffic(t *testing.T, n int) (frames []frame) {
	random := rand.New(rand.NewPCG(1, 2))
	b := newBuilder(t, linkEthernet)
	var ends []string
	for range n {
		client, server, other, in, out := fmt.Sprintf("203.0.113.%d:%d", random.IntN(200), 1024+random.IntN(9)), "192.0.2.1:443", "192.0.2.9", "far", "near"
		if random.IntN(3) == 0 {
			client, server = fmt.Sprintf("[2001:db8:9::%d]:%d", random.IntN(200), 1024+random.IntN(9)), "[2001:db8:1::1]:443"
			other = "[2001:db8:1::9]"
		}
		seq, ack := random.Uint32(), random.Uint32()
		switch random.IntN(6) {
		case 0: // a connection from inside
			client, server, in, out = server, client, out, in
			fallthrough
		case 1, 2:
			b.tcp(tcp{from: client, to: server, flags: "S", seq: seq})
			b.tcp(tcp{from: server, to: client, flags: "SA", seq: ack, ack: seq + 1})
			b.tcp(tcp{from: client, to: server, flags: "A", seq: seq + 1, ack: ack + 1})
			b.tcp(tcp{from: client, to: server, flags: "AP", seq: seq + 1, ack: ack + 1, payload: strings.Repeat("x", random.IntN(1300))})
			ends = append(ends, in, out, in, in)
		case 3:
			b.layers(ethernet(from4), network3(netip.MustParseAddr("198.51.100.7"), inside[0].Addr().Next(), layers.IPProtocolUDP), rawLayer([]byte{0, 53, 0, 9, 0, 8, 0, 0}))
			ends = append(ends, in)
		case 4:
			b.layers(ethernet(from6), network3(netip.MustParseAddr("2001:db8:9::7"), inside[1].Addr().Next(), layers.IPProtocolICMPv6), rawLayer(make([]byte, 64)))
			ends = append(ends, in)
		default:
			b.tcp(tcp{from: client, to: fmt.Sprintf("%s:%d", other, random.IntN(65536)), flags: "S", seq: seq})
			ends = append(ends, in)
		}
	}
	p, err := openPcap(newWindow(&b.file))
	if err != nil {
		t.Fatal(err)
	}
	var r record
	for _, end := range ends {
		if err := p.next(&r); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame{end, spoil(random, r.data)})
	}
	return frames
}

// spoil returns some frames with tags of VLANs, and some cut off.
func spoil(random *rand.Rand, data []byte) []byte {
	tags := []byte{0x88, 0xa8, 0, 9, 0x81, 0, 0, 7}
	switch random.IntN(8) {
	case 0:
		return slices.Concat(data[:12], tags[4:], data[12:])
	case 1:
		return slices.Concat(data[:12], tags, data[12:])
	case 2:
		return slices.Clone(data[:14+random.IntN(len(data)-13)])
	}
	return slices.Clone(data)
}

// An interface shows what a capture shows that tcpdump wrote beside it.
func TestLiveIsReplay(t *testing.T) {
	need(t, "tcpdump", "tcpdump")
	frames := traffic(t, 6000)
	w := newWire(t)
	file := filepath.Join(t.TempDir(), "beside.pcap")
	beside := w.tcpdump(file, len(frames))
	o := Options{Kinds: LiveKinds, Local: inside}
	r := w.live(LiveOptions{Memory: 64 << 20}, o)
	w.send(frames)
	got := w.until(r, uint64(len(frames)))
	if err := beside.Wait(); err != nil {
		t.Fatal(err)
	}
	capture, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer capture.Close()
	want, all := events(t, capture, o)
	compareEvents(t, got, want)
	is := r.Stats()
	if is.Dropped != 0 || is.Packets != all.Packets || is.IP != all.IP || is.Malformed != all.Malformed || is.Events != all.Events {
		t.Errorf("live %+v, replay %+v", is, all)
	}
	var handshakes int
	for i := range got {
		if got[i].Verified&edgeguard.KindHandshake != 0 {
			handshakes++
		}
	}
	if handshakes < 1000 || all.Malformed == 0 || all.Events == all.IP {
		t.Errorf("%d handshakes, %+v: the traffic shows too little", handshakes, all)
	}
}

// compareEvents compares all but the times, which each program has its own of.
func compareEvents(t *testing.T, got, want []edgeguard.Event) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if apart := got[i].Time.Sub(want[i].Time).Abs(); apart > patience {
			t.Fatalf("event %d: times are %v apart", i, apart)
		}
		if got[i].Time = want[i].Time; !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("event %d is %+v, in the capture %+v", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d events, in the capture %d", len(got), len(want))
	}
}

// send sends frames, each from its end.
func (w *wire) send(frames []frame) {
	w.t.Helper()
	from := map[string]func([]byte){"near": w.sender("near"), "far": w.sender("far")}
	before := w.arrived()
	for i, f := range frames {
		from[f.from](f.data)
		for end := time.Now().Add(patience); i%256 == 255 && w.arrived() < before+i+1; time.Sleep(100 * time.Microsecond) {
			if time.Now().After(end) { // else the queue between the ends would be full
				w.t.Fatalf("%d of %d frames arrived", w.arrived()-before, i+1)
			}
		}
	}
}

// arrived returns how many frames both ends received.
func (w *wire) arrived() (all int) {
	w.t.Helper()
	table, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if name, figures, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "near" || strings.TrimSpace(name) == "far" {
			n, err := strconv.Atoi(strings.Fields(figures)[1])
			if err != nil {
				w.t.Fatal(err)
			}
			all += n
		}
	}
	return all
}

// tcpdump writes so many packets of near into a file. It listens when this returns.
func (w *wire) tcpdump(file string, packets int) *exec.Cmd {
	w.t.Helper()
	c := exec.Command("tcpdump", "-Z", "root", "-i", "near", "-B", "65536", "--time-stamp-precision=nano", "-c", strconv.Itoa(packets), "-w", file)
	said, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Process.Kill() })
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if strings.Contains(lines.Text(), "listening on") {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return c
		}
	}
	w.t.Skip("tcpdump does not listen here")
	return nil
}
