// Package frontdoor tells the addresses of what stands before a site (a balancer, a tunnel, a CDN)
// from those of its clients. A server that was not told who its clients are logs the front door's:
// to block such an address is to block everybody behind it.
//
// By what a source shows of its clients, an address is a front door's
//   - if it is no address of the Internet, and the source has shown none of the Internet for a day;
//   - if it is in the ranges of a CDN, and so are nine in ten of the source's addresses.
//
// Another address is a client's, however many of the requests are its own: an attacker's share is
// as great. An address that a trusted proxy named is a client's, too: the proxy knows who asked.
package frontdoor

import (
	"net/netip"

	"edgeguard"
)

// Inner is what [Sources.DoorOf] says of an address that is not of the Internet; of others it says
// whose they are.
const Inner = "private"

// Fix says what to do where a source knows only the front door.
const Fix = "They are those of what stands before the server (a balancer, a tunnel, a CDN), and not its clients'. " +
	"Have the server log its client: nginx set_real_ip_from and real_ip_header, Apache mod_remoteip; or read the log of what stands before it. " +
	"Where a proxy asks: trusted_proxies. If they are clients, as in an office's own network, `edgeguard clients add NETWORK` says so, as does clients in the config"

// Whose says in words whose addresses are meant by what [Sources.DoorOf] or [Sources.Shown] says.
func Whose(door string) string {
	if door == Inner {
		return "private addresses"
	}
	return "addresses of " + door
}

// shared is the space of carriers, and of clouds' inner networks (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// IsInner reports whether an address can be no visitor's from the Internet: it is private, of the
// space that carriers share, link-local, or this host's own.
func IsInner(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || shared.Contains(a)
}

// leastShown is how many addresses a few lines must show to say that they are a CDN's.
const leastShown = 5

// Shown returns what the addresses in some lines are, as [Sources.Shown].
func Shown(events []edgeguard.Event) string {
	s := New(0)
	for i := range events {
		// As if a second apart: lines are few, and one is looked at in a second.
		s.NoteClient(&events[i], uint32(i+1))
	}
	return s.Shown()
}
