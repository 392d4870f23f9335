package access

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"edgeguard/internal/lobby"
)

// Peer is who is at the other end of a connection.
type Peer struct {
	Unix bool // over a unix socket
	// Who is "uid 0, pid 4711" over a unix socket, where the kernel says so, and
	// the remote address otherwise.
	Who      string
	user     string // "uid 0" over a unix socket, where the kernel says so
	loopback bool   // over TCP from this host
	addr     netip.Addr
}

// local reports whether a peer is on this host.
func (p *Peer) local() bool { return p.Unix || p.loopback }

// within reports whether a peer's address is in one of the prefixes.
func (p *Peer) within(prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(one netip.Prefix) bool { return one.Contains(p.addr) })
}

// Addr returns the address of the other end; the zero address over a unix socket.
func (p *Peer) Addr() netip.Addr { return p.addr }

type peerKey struct{}

// WithPeer keeps a connection's peer for its requests. The connection is one of
// package lobby.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	p := &Peer{Who: c.RemoteAddr().String()}
	switch remote := c.RemoteAddr().(type) {
	case *net.UnixAddr:
		p.Unix = true
		p.Who = unixPeer(c.(*lobby.Conn).Conn)
		if uid, _, ok := strings.Cut(p.Who, ", pid "); ok {
			p.user = uid
		}
	case *net.TCPAddr:
		p.addr = remote.AddrPort().Addr().Unmap()
		p.loopback = p.addr.IsLoopback()
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerOf returns a request's peer; a stranger where nothing is known.
func PeerOf(r *http.Request) *Peer {
	if p, ok := r.Context().Value(peerKey{}).(*Peer); ok {
		return p
	}
	return &Peer{Who: r.RemoteAddr}
}
