package doctor

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/config"
	"edgeguard/enforce/nftables"
)

// capability is a right with its number.
type capability struct {
	number int
	name   string
}

// netAdmin is the right to change the packet filter, and netRaw that to listen to interfaces.
var netAdmin, netRaw = capability{12, "CAP_NET_ADMIN"}, capability{13, "CAP_NET_RAW"}

// packetFilter looks at what keeps the kernel from dropping blocked addresses, and from
// letting the operator in.
func (x *examination) packetFilter(c *config.Config, root string) {
	n := c.Enforce.NFTables
	if n == nil {
		return
	}
	about := "packet filter"
	if c.Monitor {
		x.note(doubt, about, "in mode monitor the table %s stays empty", n.Table)
	}
	if n.DryRun {
		x.note(doubt, about, "dry_run: packets of blocked addresses are counted, and none is dropped")
	}
	if x.may(netAdmin) {
		x.note(fine, about, "the node may change it")
	} else {
		x.note(wrong, about, "the node lacks the right %s: edgeguard snippets nftables prints a drop-in for its unit", netAdmin.name)
	}
	if slices.Contains(n.SparePorts, nftables.DefaultSSHPort) {
		x.note(fine, about, "blocked addresses can still connect to ssh's port")
	} else {
		x.note(doubt, about, "blocked addresses cannot connect to ssh: set spare_ports: [22], or try it first with edgeguard enforce try")
	}
	if proxies := farProxies(c.TrustedProxies); len(proxies) > 0 {
		x.note(doubt, about, "clients behind %s are never added: the kernel sees the proxy's address; forward auth refuses these clients", strings.Join(proxies, ", "))
	}
	for _, other := range besides(root) {
		x.note(fine, about, "%s", other)
	}
}

// interfaces looks at what keeps the node from listening to them.
func (x *examination) interfaces(c *config.Config) {
	p := c.Sensors.Packet
	if p == nil {
		return
	}
	const about = "packets"
	if !x.may(netRaw) {
		x.note(wrong, about, "the node lacks the right %s: edgeguard snippets packet prints a drop-in for its unit", netRaw.name)
	}
	for _, name := range p.Interfaces {
		switch i, err := net.InterfaceByName(name); {
		case err != nil:
			x.note(wrong, about, "there is no interface %s: it is waited for", name)
		case i.Flags&net.FlagUp == 0:
			x.note(wrong, about, "the interface %s is down: it is waited for", name)
		default:
			x.note(fine, about, "the interface %s is up", name)
		}
	}
}

// may reports whether the node has a right: by its unit, or else as this process.
func (x *examination) may(c capability) bool {
	if x.unit != nil {
		return x.unit.UID == 0 || strings.Contains(x.unit.Rights, c.name)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return true // not known
	}
	return hasRight(string(status), c)
}

// hasRight reports whether a process has the right, by its status in /proc.
func hasRight(status string, c capability) bool {
	_, rest, found := strings.Cut(status, "CapEff:")
	rights, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 16, 64)
	return !found || err != nil || rights>>c.number&1 == 1
}

// besides returns what other programs that filter packets mean for edgeguard's table.
func besides(root string) (all []string) {
	is := func(path string) bool { _, err := os.Stat(filepath.Join(root, path)); return err == nil }
	ufw, _ := os.ReadFile(filepath.Join(root, "/etc/ufw/ufw.conf"))
	if strings.Contains("\n"+string(ufw), "\nENABLED=yes") {
		all = append(all, "beside ufw: its rules stay, and come after edgeguard's: an allow of ufw's spares no blocked address")
	}
	if is("/run/firewalld") {
		all = append(all, "beside firewalld: its rules stay, and come after edgeguard's: a trusted zone spares no blocked address")
	}
	if is("/run/docker.sock") || is("/sys/class/net/docker0") {
		all = append(all, "beside Docker: published ports of containers are covered; what this host only routes is, with forward: true")
	}
	return all
}

// filterOfNode asks the node whether its packet filter will ever drop anything. Why it
// fails, or is paused, is among the node's conditions.
func (x *examination) filterOfNode(ctx context.Context, node *client.Client) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	s, err := node.Kernel(ctx)
	if err != nil {
		return // it has none, or this user may not ask
	}
	switch {
	case s.Withheld > 0 && s.Intended == 0:
		x.note(wrong, "packet filter", "all %d blocks were learned behind a proxy, so none will ever be in the kernel: enforce at the proxy instead", s.Withheld)
	case s.Withheld > 0:
		x.note(doubt, "packet filter", "%d of %d blocks were learned behind a proxy, and are not in the kernel", s.Withheld, s.Withheld+s.Intended)
	case s.State == admin.KernelInForce && !s.DryRun && s.Error == "":
		x.note(fine, "packet filter", "in force, with %d blocks in the table %s", s.Installed, s.Table)
	}
}
