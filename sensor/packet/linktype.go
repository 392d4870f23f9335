package packet

import "fmt"

// LinkType says how the packets of an interface begin, in the numbers of
// https://www.tcpdump.org/linktypes.html.
type LinkType uint32

// The link types that are read. The first three numbers for raw IP are what
// different systems call DLT_RAW and some programs write into files.
const (
	linkNull      LinkType = 0   // BSD loopback, family in the writer's byte order
	linkEthernet  LinkType = 1   // Ethernet, with or without VLAN tags
	linkRaw12     LinkType = 12  // raw IP
	linkRaw14     LinkType = 14  // raw IP, OpenBSD
	linkRaw       LinkType = 101 // raw IP
	linkLoop      LinkType = 108 // OpenBSD loopback, family in network order
	linkCooked    LinkType = 113 // Linux cooked
	linkIPv4      LinkType = 228 // raw IPv4
	linkIPv6      LinkType = 229 // raw IPv6
	linkCookedTwo LinkType = 276 // Linux cooked, version 2
)

var linkNames = map[LinkType]string{
	linkNull: "loopback", linkEthernet: "Ethernet", linkRaw12: "raw IP", linkRaw14: "raw IP",
	linkRaw: "raw IP", linkLoop: "loopback", linkCooked: "Linux cooked", linkIPv4: "raw IPv4",
	linkIPv6: "raw IPv6", linkCookedTwo: "Linux cooked v2",
	9: "PPP", 50: "PPP", 104: "Cisco HDLC", 105: "802.11", 107: "Frame Relay", 127: "802.11 radiotap",
}

// String returns the name, or the number where there is none to know.
func (l LinkType) String() string {
	if name, ok := linkNames[l]; ok {
		return name
	}
	return fmt.Sprintf("link type %d", uint32(l))
}
