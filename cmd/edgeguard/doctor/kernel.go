package doctor

import (
	"context"
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

// capNetAdmin is the number of the right to change the packet filter.
const capNetAdmin = 12

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
	if x.mayFilter() {
		x.note(fine, about, "the node may change it")
	} else {
		x.note(wrong, about, "the node lacks the right CAP_NET_ADMIN: edgeguard snippets nftables prints a drop-in for its unit")
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

// mayFilter reports whether the node has the right to change the packet filter: by its
// unit, or else as this process.
func (x *examination) mayFilter() bool {
	if x.unit != nil {
		return x.unit.UID == 0 || x.unit.NetAdmin
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return true // not known
	}
	return hasRight(string(status))
}

// hasRight reports whether a process has the right, by its status in /proc.
func hasRight(status string) bool {
	_, rest, found := strings.Cut(status, "CapEff:")
	rights, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 16, 64)
	return !found || err != nil || rights>>capNetAdmin&1 == 1
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
