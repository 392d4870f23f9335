package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/hostaddr"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/pipeline"
)

// protected is which addresses are blocked by force only: the host's, the
// config's and those of the fleet's Redis. It also has the other nodes' addresses.
// Safe for concurrent use.
type protected struct {
	pipeline *pipeline.Pipeline
	list     *blocklist.List
	imported *imported.Set
	clock    *clockguard.Clock
	alarms   *alarm.Tracker
	changed  func() // called when the set is another

	set   atomic.Pointer[hostaddr.Set]
	peers atomic.Pointer[checks.Peers] // the other nodes' addresses
	redis atomic.Pointer[[]netip.Addr] // what the names of the fleet's Redis resolved to
}

// look finds the protected addresses immediately: before the first answer, and
// when the config changed.
func (p *protected) look() {
	set, err := hostaddr.Discover(hostaddr.Config{Extra: p.relied})
	p.use(set, err)
}

// run follows the host's addresses as they change.
func (p *protected) run(ctx context.Context) {
	extra := func() ([]hostaddr.Protected, error) {
		err := p.resolveRedis(ctx, net.DefaultResolver)
		relied, _ := p.relied()
		return relied, err
	}
	_ = hostaddr.Run(ctx, hostaddr.Config{Extra: extra}, hostaddr.DefaultEvery, p.use) // it always returns ctx's error
}

// relied returns what the config protects, and the known addresses of the fleet.
// It never waits: a start and a reload do not depend on a resolver.
func (p *protected) relied() ([]hostaddr.Protected, error) {
	c := p.pipeline.Current().Config
	var out []hostaddr.Protected
	for _, one := range c.TrustedProxies {
		out = append(out, hostaddr.Protected{Prefix: one, Reason: "trusted proxy"})
	}
	for _, one := range c.Protected {
		out = append(out, hostaddr.Protected{Prefix: one, Reason: "config"})
	}
	for _, addr := range p.redisAddresses(c.Fleet) {
		out = append(out, hostaddr.Protected{Prefix: netip.PrefixFrom(addr, addr.BitLen()), Reason: "Redis"})
	}
	return out, nil
}

// redisAddresses returns the addresses of the fleet's Redis: those in the
// config, and those that its names last resolved to.
func (p *protected) redisAddresses(f *config.Fleet) (addrs []netip.Addr) {
	for _, host := range redisHosts(f) {
		if addr, err := netip.ParseAddr(host); err == nil {
			addrs = append(addrs, addr.Unmap().WithZone(""))
		}
	}
	if resolved := p.redis.Load(); f != nil && resolved != nil {
		addrs = append(addrs, *resolved...)
	}
	return addrs
}

// redisHosts returns the hosts of the fleet's Redis; a socket has none.
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

// resolveRedis resolves the names of the fleet's Redis again. Where one fails,
// the previous addresses stay in use.
func (p *protected) resolveRedis(ctx context.Context, resolver *net.Resolver) (err error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	var addrs []netip.Addr
	for _, host := range redisHosts(p.pipeline.Current().Config.Fleet) {
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
		p.redis.Store(&addrs)
	}
	return err
}

// use passes the protected addresses to the list and the enforcers.
func (p *protected) use(set hostaddr.Set, err error) {
	const about = "this host"
	if err != nil {
		p.alarms.Begins(p.clock.Now(), alarm.Addrs, about, "some of this host's addresses are unknown and may be blocked: "+err.Error())
	} else {
		p.alarms.Ends(alarm.Addrs, about)
	}
	before := p.set.Swap(&set)
	p.list.SetProtected(set.Prefixes())
	if before == nil || !slices.Equal(*before, set) {
		p.changed()
	}
}

// prefixes returns the prefixes that are blocked by force only.
func (p *protected) prefixes() []netip.Prefix {
	if set := p.set.Load(); set != nil {
		return set.Prefixes()
	}
	return nil
}

// why returns why an address is protected, or whose it is; empty for any other.
func (p *protected) why(addr netip.Addr) string {
	if set := p.set.Load(); set != nil {
		if why, ok := set.Why(netip.PrefixFrom(addr, addr.BitLen())); ok {
			return why.Reason
		}
	}
	return p.peers.Load().Why(addr)
}

// usePeers passes the other nodes' addresses to the list and the enforcers.
func (p *protected) usePeers(peers *checks.Peers) {
	if before := p.peers.Swap(peers); !before.Equal(peers) {
		signed, unsigned := peers.Prefixes()
		p.list.SetPeers(signed, unsigned)
		p.imported.SetClaimed(unsigned)
		p.changed()
	}
}

// own returns the addresses of this host that another node could see as a
// client's, and must not block.
func (p *protected) own() []netip.Addr {
	var own []netip.Addr
	if set := p.set.Load(); set != nil {
		for _, one := range *set {
			addr := one.Prefix.Addr()
			if strings.HasPrefix(one.Reason, "interface ") && one.Prefix.IsSingleIP() && addr.IsGlobalUnicast() && len(own) < checks.MostOwn {
				own = append(own, addr)
			}
		}
	}
	return own
}
