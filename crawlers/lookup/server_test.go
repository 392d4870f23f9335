package lookup

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// The types and codes of RFC 1035 that the tests need.
const (
	typeA, typeCNAME, typePTR, typeAAAA = 1, 5, 12, 28
	serverFailure, noName, refused      = 2, 3, 5
)

// record is one answer: its data is a name, or the bytes of an address.
type record struct {
	owner string // "" for the name that was asked for
	kind  uint16
	name  string
	addr  netip.Addr
}

// reply is what the server answers to a question.
type reply struct {
	code    byte
	records []record
	silent  bool // no answer at all
}

// server is a small DNS server on loopback, over UDP and TCP: what is too long for a
// datagram is cut off there, so that the resolver asks again over TCP.
type server struct {
	udp net.PacketConn
	tcp net.Listener

	mu      sync.Mutex // guards all below
	zone    map[string]reply
	asked   []string // the questions, as "PTR name"
	packets int
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{zone: make(map[string]reply)}
	var err error
	if s.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if s.udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(s.serveUDP)
	running.Go(func() { s.serveTCP(&running) })
	t.Cleanup(func() {
		s.udp.Close()
		s.tcp.Close()
		running.Wait()
	})
	return s
}

// dial is the way to it, whatever address the resolver wants.
func (s *server) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	address := s.udp.LocalAddr().String()
	if strings.HasPrefix(network, "tcp") {
		network, address = "tcp", s.tcp.Addr().String()
	} else {
		network = "udp"
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func (s *server) serveUDP() {
	b := make([]byte, 4096)
	for {
		n, from, err := s.udp.ReadFrom(b)
		if err != nil {
			return
		}
		out := s.answer(b[:n])
		if len(out) > 1200 { // what the resolver allows: cut off, and said so
			out[2] |= 2
			binary.BigEndian.PutUint16(out[6:], 0)
			out = out[:12+questionLength(out[12:])]
			out[10], out[11] = 0, 0
		}
		if out != nil {
			s.udp.WriteTo(out, from)
		}
	}
}

func (s *server) serveTCP(running *sync.WaitGroup) {
	for {
		c, err := s.tcp.Accept()
		if err != nil {
			return
		}
		running.Go(func() {
			defer c.Close()
			c.SetDeadline(time.Now().Add(10 * time.Second))
			var head [2]byte
			if _, err := io.ReadFull(c, head[:]); err != nil {
				return
			}
			b := make([]byte, binary.BigEndian.Uint16(head[:]))
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			if out := s.answer(b); out != nil {
				c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
			}
		})
	}
}

// questionLength returns the length of the question at the beginning of b.
func questionLength(b []byte) int {
	n := 0
	for b[n] != 0 {
		n += int(b[n]) + 1
	}
	return n + 5
}

// answer answers a question; nil for none.
func (s *server) answer(b []byte) []byte {
	if len(b) < 17 {
		return nil
	}
	length := questionLength(b[12:])
	question := b[12 : 12+length]
	var labels []string
	for i := 0; question[i] != 0; i += int(question[i]) + 1 {
		labels = append(labels, string(question[i+1:i+1+int(question[i])]))
	}
	name := strings.ToLower(strings.Join(labels, "."))
	kind := map[uint16]string{typeA: "A", typePTR: "PTR", typeAAAA: "AAAA"}[binary.BigEndian.Uint16(question[length-4:])]
	s.mu.Lock()
	r, known := s.zone[kind+" "+name]
	s.asked = append(s.asked, kind+" "+name)
	s.packets++
	s.mu.Unlock()
	if !known {
		r.code = noName
	}
	if r.silent {
		return nil
	}
	out := append([]byte{b[0], b[1], 0x81, 0x80 | r.code, 0, 1}, 0, 0, 0, 0, 0, 0)
	binary.BigEndian.PutUint16(out[6:], uint16(len(r.records)))
	out = append(out, question...)
	for _, one := range r.records {
		out = one.append(out)
	}
	return out
}

func (r record) append(out []byte) []byte {
	if r.owner == "" {
		out = append(out, 0xc0, 12)
	} else {
		out = append(out, packName(r.owner)...)
	}
	out = binary.BigEndian.AppendUint16(out, r.kind)
	out = append(out, 0, 1, 0, 0, 0, 60)
	data := packName(r.name)
	if r.addr.IsValid() {
		data = r.addr.AsSlice()
	}
	return append(binary.BigEndian.AppendUint16(out, uint16(len(data))), data...)
}

func packName(name string) (out []byte) {
	for label := range strings.SplitSeq(strings.Trim(name, "."), ".") {
		out = append(append(out, byte(len(label))), label...)
	}
	return append(out, 0)
}

// ptr and back put names of an address, and addresses of a name, into the zone.
func (s *server) ptr(addr string, names ...string) {
	var r reply
	for _, name := range names {
		r.records = append(r.records, record{kind: typePTR, name: name})
	}
	s.set(reverse(addr), r)
}

func (s *server) back(name string, addrs ...string) {
	var r reply
	kind := "A "
	for _, text := range addrs {
		one := record{kind: typeA, addr: netip.MustParseAddr(text)}
		if one.addr.Is6() {
			one.kind, kind = typeAAAA, "AAAA "
		}
		r.records = append(r.records, one)
	}
	s.set(kind+strings.ToLower(name), r)
}

func (s *server) set(question string, r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zone[question] = r
}

// reverse returns the question about the names of an address.
func reverse(addr string) string {
	const hex = "0123456789abcdef"
	a := netip.MustParseAddr(addr)
	var labels []string
	for _, b := range a.AsSlice() {
		if a.Is4() {
			labels = append([]string{netip.AddrFrom4([4]byte{0, 0, 0, b}).String()[6:]}, labels...)
		} else {
			labels = append([]string{string(hex[b&15]), string(hex[b>>4])}, labels...)
		}
	}
	zone := ".ip6.arpa"
	if a.Is4() {
		zone = ".in-addr.arpa"
	}
	return "PTR " + strings.Join(labels, ".") + zone
}

// questions returns what was asked, and in how many packets.
func (s *server) questions() (asked []string, packets int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(asked, s.asked...), s.packets
}
