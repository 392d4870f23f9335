package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"edgeguard/config"
	"edgeguard/hostaddr"
)

// look finds the addresses that this host cannot do without, once and at once:
// before the first answer, and when the config changed.
func (n *Node) look() {
	set, err := hostaddr.Discover(hostaddr.Config{Extra: n.relied})
	n.spare(set, err)
}

// keepLooking follows the host's addresses as they change.
func (n *Node) keepLooking(ctx context.Context) {
	extra := func() ([]hostaddr.Protected, error) {
		err := n.resolveRedis(ctx, net.DefaultResolver)
		relied, _ := n.relied()
		return relied, err
	}
	_ = hostaddr.Run(ctx, hostaddr.Config{Extra: extra}, hostaddr.DefaultEvery, n.spare) // it gives ctx's error, always
}

// relied gives what the config protects besides, and what is known of the
// fleet's addresses. It never waits: a start and a reload do not hang on a
// resolver.
func (n *Node) relied() ([]hostaddr.Protected, error) {
	c := n.pipeline.Current().Config
	var out []hostaddr.Protected
	for _, p := range c.TrustedProxies {
		out = append(out, hostaddr.Protected{Prefix: p, Reason: "trusted proxy"})
	}
	for _, p := range c.Protected {
		out = append(out, hostaddr.Protected{Prefix: p, Reason: "config"})
	}
	if peers := n.peers.Load(); peers != nil {
		for addr, node := range *peers {
			out = append(out, hostaddr.Protected{Prefix: netip.PrefixFrom(addr, addr.BitLen()), Reason: "node " + node})
		}
	}
	for _, addr := range n.redisAddresses(c.Fleet) {
		out = append(out, hostaddr.Protected{Prefix: netip.PrefixFrom(addr, addr.BitLen()), Reason: "Redis"})
	}
	return out, nil
}

// redisAddresses gives the addresses of the fleet's Redis: those that the
// config spells out, and those that its names resolved to last.
func (n *Node) redisAddresses(f *config.Fleet) (addrs []netip.Addr) {
	for _, host := range redisHosts(f) {
		if addr, err := netip.ParseAddr(host); err == nil {
			addrs = append(addrs, addr.Unmap().WithZone(""))
		}
	}
	if resolved := n.redis.Load(); f != nil && resolved != nil {
		addrs = append(addrs, *resolved...)
	}
	return addrs
}

// redisHosts gives the hosts of the fleet's Redis; a socket has none.
func redisHosts(f *config.Fleet) (hosts []string) {
	if f == nil {
		return nil
	}
	for _, text := range f.Redis {
		if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
			hosts = append(hosts, u.Hostname())
		}
	}
	return hosts
}

// lookUpTime is how long the name of a Redis may take to resolve.
const lookUpTime = 2 * time.Second

// resolveRedis looks the names of the fleet's Redis up again. Where one cannot be
// found, what was known before stays.
func (n *Node) resolveRedis(ctx context.Context, resolver *net.Resolver) (err error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	var addrs []netip.Addr
	for _, host := range redisHosts(n.pipeline.Current().Config.Fleet) {
		if _, parseErr := netip.ParseAddr(host); parseErr == nil {
			continue
		}
		found, lookErr := resolver.LookupNetIP(ctx, "ip", host)
		if lookErr != nil {
			err = errors.Join(err, fmt.Errorf("fleet.redis: %w", lookErr))
		}
		for _, addr := range found {
			addrs = append(addrs, addr.Unmap())
		}
	}
	if err == nil {
		n.redis.Store(&addrs)
	}
	return err
}

// spare tells the list and the enforcers whom not to block.
func (n *Node) spare(set hostaddr.Set, err error) {
	const about = "this host"
	if err != nil {
		n.alarms.begins(n.clock.Now(), alarmAddrs, about, "not all of this host's addresses are known, and those may be blocked: "+err.Error())
	} else {
		n.alarms.ends(alarmAddrs, about)
	}
	before := n.spared.Swap(&set)
	n.list.SetProtected(set.Prefixes())
	if before == nil || !slices.Equal(*before, set) {
		n.refreshOutlets()
	}
}

// protected gives the prefixes that are blocked by force only.
func (n *Node) protected() []netip.Prefix {
	if set := n.spared.Load(); set != nil {
		return set.Prefixes()
	}
	return nil
}

// protection says why an address is protected.
func (n *Node) protection(addr netip.Addr) string {
	set := n.spared.Load()
	if set == nil {
		return ""
	}
	why, _ := set.Why(netip.PrefixFrom(addr, addr.BitLen()))
	return why.Reason
}
