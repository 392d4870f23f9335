package config

import (
	"fmt"
	"regexp"
	"strings"

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

func readNFTables(n yaml.Node) *NFTables {
	t := &NFTables{Table: "edgeguard"}
	var hook string
	n.Mapping(yaml.Fields{
		"table":       func(n yaml.Node) { t.Table = n.Like(listName, "small letters, digits and _, at most 24") },
		"hook":        func(n yaml.Node) { hook = n.Choice("prerouting", "ingress") },
		"device":      func(n yaml.Node) { t.Device = n.Like(device, "the name of an interface, such as eth0") },
		"forward":     func(n yaml.Node) { t.Forward = n.Truth() },
		"spare_ports": func(n yaml.Node) { n.List(t.readPort) },
		"dry_run":     func(n yaml.Node) { t.DryRun = n.Truth() },
	})
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

func (t *NFTables) readPort(n yaml.Node) {
	t.SparePorts = append(t.SparePorts, uint16(n.Whole(1, 65535)))
}

// write writes the table with its defaults.
func (t *NFTables) write(p *yaml.Printer) {
	place := "hook: prerouting"
	if t.Device != "" {
		place = "hook: ingress, device: " + yaml.Quote(t.Device)
	}
	ports := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(t.SparePorts), "[]")), ", ")
	p.Field(1, "nftables", fmt.Sprintf("{table: %s, %s, forward: %t, spare_ports: [%s], dry_run: %t}",
		yaml.Quote(t.Table), place, t.Forward, ports, t.DryRun))
}
