// Package hostaddr finds the addresses that this host cannot do without, so that
// edgeguard never blocks them by accident. They are its own, loopback and
// link-local, its gateways, its resolvers, and what the caller adds (trusted
// proxies, Redis, the other nodes). Each comes with the reason for which it is
// protected.
//
//	interfaces ─┐
//	gateways   ─┼─ Discover ─▶ Set ─▶ blocklist.SetProtected
//	resolvers  ─┤
//	extra      ─┘
//
// [Discover] looks once; [Run] looks again and again and reports changes. A
// source that fails does not affect the others. In Run, what it reported before
// stays protected: too long rather than too short.
//
// Not seen are gateways of routing tables other than the main one and the
// second and later next hops of a multipath route, which the kernel leaves out
// of /proc/net/route. Off Linux there are no gateways. Name such addresses in
// Config.Extra.
package hostaddr

import (
	"errors"
	"net/netip"
	"slices"
)

// Config says where to look. The zero value is this host.
type Config struct {
	// Root is put before the paths that are read (/proc/net/route,
	// /proc/net/ipv6_route, /etc/resolv.conf,
	// /run/systemd/resolve/resolv.conf); empty means the root of the file
	// system.
	Root string
	// Interfaces lists the host's own addresses; nil means those of all its
	// interfaces, as the kernel names them.
	Interfaces func() ([]Protected, error)
	// Extra lists what the host relies on besides; nil means nothing. It is
	// called at each look, since names may resolve to other addresses and nodes come
	// and go. It should not block: while it does, nothing is refreshed.
	Extra func() ([]Protected, error)
}

// fixed is protected on every host.
var fixed = []Protected{
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
}

// Everywhere is what no node blocks by accident, whatever its host is, together
// with more, such as a config's trusted proxies. It looks at nothing.
func Everywhere(more ...Protected) Set { return newSet(slices.Concat(fixed, more)) }

// Discover looks at every source once. What could be read is in the set
// whatever the error, which joins those of all sources, each with its place.
func Discover(c Config) (Set, error) {
	var all []Protected
	var errs []error
	for _, look := range c.sources() {
		found, err := look()
		all = append(all, found...)
		errs = append(errs, err)
	}
	return newSet(all), errors.Join(errs...)
}

// source reads one place where addresses are found. It may return addresses and an error.
type source func() ([]Protected, error)

func (c *Config) sources() []source {
	list := []source{
		func() ([]Protected, error) { return fixed, nil },
		new(interfaces).look,
		c.file("/proc/net/route", parseRoutes4),
		c.file("/proc/net/ipv6_route", parseRoutes6),
		c.file("/etc/resolv.conf", parseResolvers),
		// Where systemd-resolved answers, the file above names only itself.
		c.file("/run/systemd/resolve/resolv.conf", parseResolvers),
	}
	if c.Interfaces != nil {
		list[1] = c.Interfaces
	}
	if c.Extra != nil {
		list = append(list, c.Extra)
	}
	return list
}
