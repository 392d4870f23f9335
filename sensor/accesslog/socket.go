package accesslog

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// defaultDatagramBuffer is the receive buffer that a UDP socket asks for, and mostBuffer
// the most. The kernel gives no more than net.core.rmem_max.
const (
	defaultDatagramBuffer = 4 << 20
	mostBuffer            = 1 << 30
)

// datagramSocket is one that datagrams come from.
type datagramSocket struct {
	conn net.Conn
	raw  syscall.RawConn
	udp  bool
	from []netip.Prefix
	// Forgeable says that hosts other than this one can send, under any address.
	Forgeable bool
	// Buffer is the receive buffer of UDP in bytes, as the kernel gave it, and Queue
	// how many datagrams that of a unix socket holds; 0 where it is not known or
	// does not apply.
	Buffer, Queue int
}

// fromUnix returns the socket of a unix datagram listener.
func fromUnix(c *net.UnixConn) (*datagramSocket, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &datagramSocket{conn: c, raw: raw, Queue: queueLength()}, nil
}

// loopback is who sends to a loopback address. The kernel lets no other host do
// so, unless route_localnet was set: therefore it is looked at.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

var (
	errNoSenders = errors.New("other hosts can send there: name the senders in `from`, or listen at 127.0.0.1")
	errSenders   = errors.New("`from` is for addresses that other hosts reach, and only this host can send to loopback: remove it")
)

// listenUDP listens at host:port. Beyond loopback, from must name who may send. buffer
// is the receive buffer to ask for; 0 means [defaultDatagramBuffer].
func listenUDP(address string, from []netip.Prefix, buffer int) (*datagramSocket, error) {
	at, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	s := &datagramSocket{udp: true, from: from, Forgeable: !at.IP.IsLoopback()}
	switch {
	case s.Forgeable && len(from) == 0:
		return nil, errNoSenders
	case !s.Forgeable && len(from) > 0:
		return nil, errSenders
	case !s.Forgeable:
		s.from = loopback
	}
	conn, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, err
	}
	s.conn = conn
	if buffer == 0 {
		buffer = defaultDatagramBuffer
	}
	if s.raw, err = conn.SyscallConn(); err == nil {
		s.Buffer, err = prepare(s.raw, min(buffer, mostBuffer))
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// Addr returns the bound address.
func (s *datagramSocket) Addr() net.Addr { return s.conn.LocalAddr() }

// Interrupt ends the wait for more.
func (s *datagramSocket) Interrupt() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) }

// Close closes the socket.
func (s *datagramSocket) Close() error { return s.conn.Close() }

// Read waits for a datagram and takes all that are there, as far as buf has room:
// at least [longestDatagram] and 2 bytes. After an error of the wait, an interrupt, it
// takes what is there without waiting, and returns both.
func (s *datagramSocket) Read(buf []byte) (*datagramBatch, error) {
	b := &datagramBatch{from: s.from, udp: s.udp, buf: buf}
	return b, b.await(s.raw)
}

// accepts reports whether one of the prefixes contains the address.
func accepts(from []netip.Prefix, addr netip.Addr) bool {
	for _, p := range from {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// queueLength returns the most datagrams that a new unix socket's queue holds, 0
// if it is not known (unix(7), net.unix.max_dgram_qlen).
func queueLength() int {
	b, err := os.ReadFile("/proc/sys/net/unix/max_dgram_qlen")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return n
}
