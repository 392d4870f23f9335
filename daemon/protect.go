package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
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
	_ = hostaddr.Run(ctx, hostaddr.Config{Extra: n.relied}, hostaddr.DefaultEvery, n.spare) // it gives ctx's error, always
}

// relied gives what the config protects besides.
func (n *Node) relied() ([]hostaddr.Protected, error) {
	c := n.core.Load().config
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
	if c.Fleet == nil {
		return out, nil
	}
	addrs, err := redisAddresses(c.Fleet)
	for _, addr := range addrs {
		out = append(out, hostaddr.Protected{Prefix: netip.PrefixFrom(addr, addr.BitLen()), Reason: "Redis"})
	}
	return out, err
}

// lookUpTime is how long the name of a Redis may take to resolve.
const lookUpTime = 2 * time.Second

// redisAddresses gives the addresses of the fleet's Redis, of which names are
// looked up anew. An error leaves the others known.
func redisAddresses(f *config.Fleet) (addrs []netip.Addr, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpTime)
	defer cancel()
	for _, text := range f.Redis {
		u, parseErr := url.Parse(text)
		if parseErr != nil || u.Hostname() == "" { // a socket
			continue
		}
		found, lookErr := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
		if lookErr != nil {
			err = errors.Join(err, fmt.Errorf("fleet.redis: %w", lookErr))
		}
		for _, addr := range found {
			addrs = append(addrs, addr.Unmap())
		}
	}
	return addrs, err
}

// spare tells the list and the enforcers whom not to block.
func (n *Node) spare(set hostaddr.Set, err error) {
	const about = "this host"
	if err != nil {
		n.alarms.begins(n.clock.Now(), alarmAddrs, about, "not all of this host's addresses are known, and those may be blocked: "+err.Error())
	} else {
		n.alarms.ends(alarmAddrs, about)
	}
	n.spared.Store(&set)
	n.list.SetProtected(set.Prefixes())
	n.refreshOutlets()
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
