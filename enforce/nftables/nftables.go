// Package nftables puts blocks into the kernel's packet filter, by netlink instead of the
// program nft. It has a table of its own, in which each length of prefix has a set, whose
// elements end by themselves.
//
//	packet ──source──▶ set of each length ──found──▶ refuse ▸ spared? local? ──▶ count, drop
//
// A set for each length, and no interval sets: those refuse a prefix that lies inside
// another, so that one more block can require that others are cut, and one less that
// they come back. In hash sets each entry has its own end, and nothing else changes
// with it. A packet costs one look-up for each length in use.
//
// Other tables are not touched, and nothing of this one outranks them: what it does
// not drop goes on to every other chain. It stays when the process ends, and its
// timeouts end it.
package nftables

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Config says where packets are dropped, and which.
type Config struct {
	// Table is the name of the table, which only edgeguard writes.
	Table string
	// Device has packets dropped as they come in from this interface. Empty: in
	// prerouting, before connection tracking, from all interfaces.
	Device string
	// Forward drops packets for other hosts, too. A container's published port is an
	// address of this host at this place.
	Forward bool
	// SparePorts are TCP ports that stay open for blocked addresses.
	SparePorts []uint16
	// DryRun counts packets and drops none.
	DryRun bool
}

// mostPorts bounds SparePorts: each is a rule.
const mostPorts = 16

var (
	tableName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)
	deviceName = regexp.MustCompile(`^[^/\s]{1,15}$`)
)

// check returns what is wrong with the settings.
func (c *Config) check() error {
	switch {
	case !tableName.MatchString(c.Table):
		return fmt.Errorf("nftables: invalid table name %q: use small letters, digits and _, at most 24", c.Table)
	case c.Device != "" && !deviceName.MatchString(c.Device):
		return fmt.Errorf("nftables: invalid device %q: use the name of an interface, such as eth0", c.Device)
	case len(c.SparePorts) > mostPorts:
		return fmt.Errorf("nftables: %d ports to spare: not over %d", len(c.SparePorts), mostPorts)
	case slices.Contains(c.SparePorts, 0):
		return errors.New("nftables: port 0 cannot be spared")
	}
	return nil
}

// Counts are packets of blocked addresses since the table was made. Anyone can send
// packets in another's name, so they decide nothing.
type Counts struct {
	Dropped uint64
	// Passed were dropped only if DryRun were off.
	Passed uint64
}

// timeout is the longest that one exchange with the kernel may take.
const timeout = 30 * time.Second
