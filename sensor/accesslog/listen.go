package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"strings"
	"sync"

	"edgeguard/internal/unixsocket"
)

// ListenConfig says where lines are received.
type ListenConfig struct {
	Live
	// Address is unixgram:/path (nginx's access_log syslog:server=unix:/path,
	// HAProxy's log unix@/path), unix:/path, tcp:host:port (Caddy's output net)
	// or udp:host:port. A line counts as evidence: who may write there may have
	// any address blocked, so keep it to this host or a network that is trusted.
	// What other hosts can send by UDP is forgeable, and blocks no address.
	Address string
	// From are the senders of a UDP address that other hosts reach, and must be
	// set there. On loopback only this host sends, and it must be empty.
	From []netip.Prefix
	// ReceiveBuffer is that of UDP, in bytes; 0 means [defaultDatagramBuffer].
	ReceiveBuffer int
	// Mode is that of the socket file; 0 means 0660. Group is its group, by name
	// or number; empty means the process's. The server's workers must be able to
	// write to it.
	Mode  fs.FileMode
	Group string
	// MaxConnections bounds the connections of a stream, each of which costs up
	// to 1 MiB; 0 means 64. More are closed immediately.
	MaxConnections int
}

const defaultMode fs.FileMode = 0o660

const defaultConnections = 64

// Listener receives log lines. Addr and Stats are safe for concurrent use; Run
// is called once. Make one with [Listen].
type Listener struct {
	config  ListenConfig
	in      *inlet
	stream  net.Listener    // or
	packets *datagramSocket // one of them
	file    *socketFile     // nil for TCP and UDP
	slots   chan struct{}   // one for each connection

	deciding sync.Mutex // held while a page is parsed and decided

	mu    sync.Mutex // guards stats
	stats ListenStats
}

// Listen binds the address, so that an error comes before anything is started.
// A socket file at which no process listens is replaced; one that is in use,
// and a file that is not a socket, are errors. [Listener.Run] must follow, which
// closes it.
func Listen(c ListenConfig) (*Listener, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Address, err)
	}
	if c.Mode == 0 {
		c.Mode = defaultMode
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = defaultConnections
	}
	l := &Listener{config: c, slots: make(chan struct{}, c.MaxConnections)}
	l.in = newInlet(&l.config.Live, c.Address)
	network, address, _ := strings.Cut(c.Address, ":")
	var err error
	switch {
	case address == "":
		err = errAddress
	case network == "tcp":
		l.stream, err = net.Listen(network, address)
	case network == "udp":
		if l.packets, err = listenUDP(address, c.From, c.ReceiveBuffer); err == nil {
			l.in.forgeable = l.packets.Forgeable
		}
	case network == "unix" || network == "unixgram":
		err = l.bind(network, address)
	default:
		err = errAddress
	}
	if err != nil {
		return nil, fmt.Errorf("listen at %q: %w", c.Address, err)
	}
	if l.packets != nil {
		l.stats.Queue, l.stats.Buffer = l.packets.Queue, l.packets.Buffer
	}
	return l, nil
}

var errAddress = errors.New("use unixgram:/path, unix:/path, tcp:host:port or udp:host:port")

// bind makes a unix socket.
func (l *Listener) bind(network, path string) (err error) {
	if err := clearStale(network, path); err != nil {
		return err
	}
	access := unixsocket.Access{Mode: l.config.Mode, Group: l.config.Group}
	if network == "unixgram" {
		var packets *net.UnixConn
		if packets, err = unixsocket.ListenPacket(path, access); err == nil {
			l.packets, err = fromUnix(packets)
		}
	} else {
		var stream *net.UnixListener
		if stream, err = unixsocket.Listen(path, access); err == nil {
			stream.SetUnlinkOnClose(false) // our own removal sees whose file it is
			l.stream = stream
		}
	}
	if err != nil {
		return err
	}
	if l.file, err = newSocketFile(path); err != nil {
		l.close()
	}
	return err
}

// Addr returns the bound address, with the port that the system chose for 0.
func (l *Listener) Addr() net.Addr {
	if l.packets != nil {
		return l.packets.Addr()
	}
	return l.stream.Addr()
}

// Run receives until ctx ends, and then returns nil; the socket is closed and its
// file removed. The datagrams that had arrived are still decided.
func (l *Listener) Run(ctx context.Context) error {
	defer l.file.remove()
	stop := context.AfterFunc(ctx, l.interrupt)
	defer stop()
	if l.packets != nil {
		defer l.packets.Close()
		return l.receive(ctx)
	}
	defer l.stream.Close()
	return l.accept(ctx)
}

// interrupt ends the wait for more.
func (l *Listener) interrupt() {
	if l.packets != nil {
		l.packets.Interrupt()
		return
	}
	_ = l.stream.Close()
}

func (l *Listener) close() {
	if l.packets != nil {
		_ = l.packets.Close()
	} else {
		_ = l.stream.Close()
	}
}

// take decides a page.
func (l *Listener) take(p *page) {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	now, events := l.in.parse(p)
	if len(events) > 0 {
		l.config.Decide(now, events)
	}
	l.in.tell(now, p)
}
