package admin

import (
	"context"
	"net"
	"net/http"

	"edgeguard/internal/lobby"
)

// peer is who is at the other end of a connection.
type peer struct {
	unix     bool // over a unix socket
	loopback bool // over TCP from this host
	who      string
}

type peerKey struct{}

// withPeer keeps a connection's peer for its requests.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	p := &peer{who: c.RemoteAddr().String()}
	switch remote := c.RemoteAddr().(type) {
	case *net.UnixAddr:
		p.unix = true
		p.who = unixPeer(c.(*lobby.Conn).Conn)
	case *net.TCPAddr:
		p.loopback = remote.IP.IsLoopback()
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// peerOf returns a request's peer; a stranger where nothing is known.
func peerOf(r *http.Request) *peer {
	if p, ok := r.Context().Value(peerKey{}).(*peer); ok {
		return p
	}
	return &peer{who: r.RemoteAddr}
}
