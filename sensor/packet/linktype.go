package packet

import "fmt"

// LinkType says how the packets of an interface begin, in the numbers of
// https://www.tcpdump.org/linktypes.html.
type LinkType uint32

// The link types that are read. The first three numbers for raw IP are what
// different systems call DLT_RAW and some programs write into files.
const (
	LinkNull      LinkType = 0   // BSD loopback, family in the writer's byte order
	LinkEthernet  LinkType = 1   // Ethernet, with or without VLAN tags
	LinkRaw12     LinkType = 12  // raw IP
	LinkRaw14     LinkType = 14  // raw IP, OpenBSD
	LinkRaw       LinkType = 101 // raw IP
	LinkLoop      LinkType = 108 // OpenBSD loopback, family in network order
	LinkCooked    LinkType = 113 // Linux cooked
	LinkIPv4      LinkType = 228 // raw IPv4
	LinkIPv6      LinkType = 229 // raw IPv6
	LinkCookedTwo LinkType = 276 // Linux cooked, version 2
)

var linkNames = map[LinkType]string{
	LinkNull: "loopback", LinkEthernet: "Ethernet", LinkRaw12: "raw IP", LinkRaw14: "raw IP",
	LinkRaw: "raw IP", LinkLoop: "loopback", LinkCooked: "Linux cooked", LinkIPv4: "raw IPv4",
	LinkIPv6: "raw IPv6", LinkCookedTwo: "Linux cooked v2",
	9: "PPP", 50: "PPP", 104: "Cisco HDLC", 105: "802.11", 107: "Frame Relay", 127: "802.11 radiotap",
}

// String returns the name, or the number where there is none to know.
func (l LinkType) String() string {
	if name, ok := linkNames[l]; ok {
		return name
	}
	return fmt.Sprintf("link type %d", uint32(l))
}
