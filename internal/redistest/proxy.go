package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what a [Proxy] does to its connections. The zero value does
// nothing: bytes pass.
type Fault struct {
	// Refuse resets new connections. Open ones stay: see [Proxy.Cut].
	Refuse bool
	// Swallow makes connections half-open: what the client sends is read and
	// never arrives, and nothing comes back.
	Swallow bool
	// DropReplies lets commands through, which are carried out, and swallows
	// the answers.
	DropReplies bool
	// CutAfter resets a connection at the Nth byte from the client since the
	// fault was set; the bytes before it have arrived. 0: never.
	CutAfter int
	// CutReplyAfter does the same at the Nth byte of the answers. With 1 a
	// command is carried out and its whole answer lost.
	CutReplyAfter int
	// Delay is how long each piece waits on its way, in both directions.
	Delay time.Duration
}

// Proxy passes TCP connections on to a server and breaks them on request. A
// connection that lost bytes to Swallow or DropReplies is reset when the next
// bytes could pass, as a half-open connection is once the network is back: it
// never goes on with a gap.
type Proxy struct {
	// Addr is where the proxy listens.
	Addr string

	target   string
	listener net.Listener
	fault    atomic.Pointer[Fault]
	accepted atomic.Int64
	closed   chan struct{}
	running  sync.WaitGroup
	mu       sync.Mutex // guards pairs
	pairs    map[*pair]struct{}
}

// NewProxy passes on to target (host:port) until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("redistest: proxy: %v", err)
	}
	p := &Proxy{
		Addr: l.Addr().String(), target: target, listener: l,
		closed: make(chan struct{}), pairs: map[*pair]struct{}{},
	}
	p.fault.Store(&Fault{})
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Set replaces the fault, for standing connections too, from their next piece
// on.
func (p *Proxy) Set(f Fault) { p.fault.Store(&f) }

// Heal lets everything pass again.
func (p *Proxy) Heal() { p.Set(Fault{}) }

// Connections counts the connections that clients have made so far, the
// refused ones among them.
func (p *Proxy) Connections() int { return int(p.accepted.Load()) }

// Live counts the open connections.
func (p *Proxy) Live() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

// Cut resets every standing connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.cut()
	}
}

func (p *Proxy) close() {
	close(p.closed)
	_ = p.listener.Close()
	p.Cut()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.accepted.Add(1)
		if p.fault.Load().Refuse {
			reset(client)
			continue
		}
		p.running.Go(func() { p.connect(client) })
	}
}

func (p *Proxy) connect(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		reset(client)
		return
	}
	c := &pair{client: client, server: server}
	p.mu.Lock()
	p.pairs[c] = struct{}{}
	p.mu.Unlock()
	select {
	case <-p.closed: // close may have cut all the others before this one was among them
		c.cut()
	default:
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(c, client, server, false) })
	both.Go(func() { p.pump(c, server, client, true) })
	both.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}

// pump passes one direction on until either end is closed.
func (p *Proxy) pump(c *pair, from, to net.Conn, reply bool) {
	defer c.cut()
	buffer := make([]byte, 64<<10)
	var since *Fault // the fault that passed counts for
	var passed int
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		f := p.fault.Load()
		if f != since {
			since, passed = f, 0
		}
		if f.Swallow || reply && f.DropReplies {
			c.gap.Store(true)
			continue
		}
		if c.gap.Load() || !p.wait(f.Delay) {
			return
		}
		limit := f.CutAfter
		if reply {
			limit = f.CutReplyAfter
		}
		last := limit > 0 && passed+n >= limit
		if last {
			n = limit - passed - 1
		}
		passed += n
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
		if last {
			// What was passed must arrive before the reset, which would throw
			// it away.
			c.finish(to)
			return
		}
	}
}

// wait waits for d and reports whether the proxy still runs.
func (p *Proxy) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-p.closed:
		return false
	case <-time.After(d):
		return true
	}
}
