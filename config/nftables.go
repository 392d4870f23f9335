package config

import (
	"fmt"
	"regexp"
	"strings"

	"edgeguard/config/key"
	"edgeguard/config/yaml"
)

// NFTables is a table of the kernel's packet filter.
type NFTables struct {
	Table string
	// Device is the interface where packets are dropped as they come in; empty for
	// the hook prerouting of all.
	Device string
	// Forward drops packets for other hosts, too.
	Forward bool
	// SparePorts are TCP ports that blocked addresses may use.
	SparePorts []uint16
	// DryRun counts packets and drops none.
	DryRun bool
}

// mostSparePorts bounds SparePorts, as package enforce/nftables does.
const mostSparePorts = 16

// device is a name that the kernel takes for an interface.
var device = regexp.MustCompile(`^[^/\s]{1,15}$`)

func newNFTables() *NFTables { return &NFTables{Table: "edgeguard"} }

// hooks are the hook without a device, and that with one.
var hooks = []string{"prerouting", "ingress"}

// entry is empty for a dry run, which drops nothing.
func (t *NFTables) entry() Entry {
	if t.DryRun {
		return Entry{}
	}
	return Entry{copies: "the packet filter, table " + t.Table}
}

// keys has the hook only to be printed: a device says which it is.
func (t *NFTables) keys() key.List {
	hook := hooks[0]
	if t.Device != "" {
		hook = hooks[1]
	}
	return key.List{
		key.Like("table", &t.Table, listName, "small letters, digits and _, at most 24",
			"its name. One that edgeguard did not make is left alone, and an alarm"),
		key.Choice("hook", &hook, hooks,
			"where packets are dropped: `prerouting` (priority −300, before connection tracking) or one interface's `ingress`"),
		key.Like("device", &t.Device, device, "the name of an interface, such as eth0", "the interface of `hook: ingress`"),
		key.Truth("forward", &t.Forward, "`true`: also drop what this host forwards to other addresses. A container's published port is an address of this host, and covered by `false`"),
		key.Of("spare_ports", &t.SparePorts, readPorts, portsText, "at most 16 ports", "TCP ports that blocked addresses may still use, such as `[22]`"),
		key.Truth("dry_run", &t.DryRun, "count the packets of blocked addresses, and drop none"),
	}
}

func readNFTables(n yaml.Node) *NFTables {
	t, hook := newNFTables(), ""
	fields := t.keys().Fields()
	fields["hook"] = func(n yaml.Node) { hook = n.Choice(hooks...) }
	n.Mapping(fields)
	switch {
	case hook == "ingress" && t.Device == "" && !n.Touched("device"):
		n.Wrong("has the hook ingress and no device", "set device to the interface that clients come through, such as eth0")
	case hook != "ingress" && t.Device != "" && !n.Touched("hook"):
		n.Wrong("has a device, which the hook prerouting does not use", "set hook: ingress, or remove device")
	}
	if len(t.SparePorts) > mostSparePorts {
		n.WrongField("spare_ports", fmt.Sprintf("has %d ports", len(t.SparePorts)), fmt.Sprintf("name at most %d", mostSparePorts))
	}
	return t
}

func readPorts(n yaml.Node) (ports []uint16) {
	n.List(func(n yaml.Node) { ports = append(ports, uint16(n.Whole(1, 65535))) })
	return ports
}

// portsText writes numbers as a list.
func portsText(ports []uint16) string { return strings.ReplaceAll(fmt.Sprint(ports), " ", ", ") }
