package clientaddr

import (
	"fmt"
	"net/netip"
	"net/textproto"
	"strings"
)

// The headers that list all hops. Any other name that a [Finder] is given is
// read as one address.
const (
	XForwardedFor = "X-Forwarded-For"
	Forwarded     = "Forwarded" // RFC 7239
)

// MaxHops bounds the walk. No site has fifty proxies in a row; a header that
// says so is meant to be slow to read.
const MaxHops = 50

// Client is the client of a request.
type Client struct {
	// Addr is the address, unmapped and without a zone. It is the zero Addr
	// for a unix socket whose header named no address.
	Addr netip.Addr
	// Hops is how many addresses were read from the header to find it: 0 is
	// the socket's own peer, 1 the client of that peer.
	Hops int
}

// FromHeader reports whether the address was taken from a header.
func (c Client) FromHeader() bool { return c.Hops > 0 }

// Finder finds the client by one header. It is safe for concurrent use.
type Finder struct {
	trust  *Trust
	header string
	list   list
}

// NewFinder makes a finder that reads the named header, in any case:
// X-Forwarded-For if header is empty, Forwarded, or a header that holds one
// address (X-Real-IP, CF-Connecting-IP).
func NewFinder(trust *Trust, header string) (*Finder, error) {
	if header == "" {
		header = XForwardedFor
	}
	if strings.ContainsAny(header, " \t\r\n:,;\"") {
		return nil, fmt.Errorf("client address: %q is not a header name", header)
	}
	f := &Finder{trust: trust, header: textproto.CanonicalMIMEHeaderKey(header)}
	switch f.header {
	case XForwardedFor:
		f.list = plainList
	case Forwarded:
		f.list = forwardedList
	}
	return f, nil
}

// Header is the canonical name of the header that [Finder.Find] expects the
// lines of.
func (f *Finder) Header() string { return f.header }

// Trusts reports whether the headers of the peer are believed.
func (f *Finder) Trusts(peer netip.Addr) bool { return f.trust.Has(plain(peer)) }

// Find returns the client of a request from peer (the zero Addr for a unix
// socket), whose header had these lines, in the order of their arrival. A
// header that holds one address is read from its last line, as a proxy that
// adds a line adds it there.
func (f *Finder) Find(peer netip.Addr, lines []string) Client {
	c := Client{Addr: plain(peer)}
	if !f.trust.Has(c.Addr) {
		return c
	}
	if f.list == noList {
		if n := len(lines); n > 0 {
			if addr, ok := ParseAddr(trim(lines[n-1])); ok {
				return Client{addr, 1}
			}
		}
		return c
	}
	w := walk{lines: lines, list: f.list}
	for range MaxHops {
		addr, ok := w.next()
		if !ok {
			break
		}
		c = Client{addr, c.Hops + 1}
		if !f.trust.Has(addr) {
			break
		}
	}
	return c
}

// plain is the spelling under which an address is counted.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
