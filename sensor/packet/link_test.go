package packet

import (
	"encoding/binary"
	"slices"
	"testing"
)

func TestNetwork(t *testing.T) {
	four, six := []byte{0x45, 0}, []byte{0x60, 0}
	macs := make([]byte, 12)
	cooked := make([]byte, 14)
	cookedTwo := func(etherType ...byte) []byte { return append(etherType, make([]byte, 18)...) }
	family := func(o binary.AppendByteOrder, n uint32) []byte { return o.AppendUint32(nil, n) }
	cases := []struct {
		name    string
		link    LinkType
		head    []byte
		ip      []byte
		version uint8
	}{
		{"Ethernet IPv4", linkEthernet, append(slices.Clone(macs), 8, 0), four, 4},
		{"Ethernet IPv6", linkEthernet, append(slices.Clone(macs), 0x86, 0xdd), six, 6},
		{"Ethernet ARP", linkEthernet, append(slices.Clone(macs), 8, 6), nil, 0},
		{"Ethernet cut off", linkEthernet, macs, nil, 0},
		{"VLAN", linkEthernet, append(slices.Clone(macs), 0x81, 0, 0, 5, 8, 0), four, 4},
		{"QinQ", linkEthernet, append(slices.Clone(macs), 0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 0x86, 0xdd), six, 6},
		{"old QinQ", linkEthernet, append(slices.Clone(macs), 0x91, 0, 0, 5, 0x81, 0, 0, 6, 8, 0), four, 4},
		{"VLAN cut off", linkEthernet, append(slices.Clone(macs), 0x81, 0), nil, 0},
		{"raw IPv4", linkRaw, nil, four, 4},
		{"raw IPv6, number 12", linkRaw12, nil, six, 6},
		{"raw IPv6, number 14", linkRaw14, nil, six, 6},
		{"raw, neither", linkRaw, []byte{0x50}, nil, 0},
		{"IPv4", linkIPv4, nil, four, 4},
		{"IPv6", linkIPv6, nil, six, 6},
		{"cooked", linkCooked, append(slices.Clone(cooked), 8, 0), four, 4},
		{"cooked VLAN", linkCooked, append(slices.Clone(cooked), 0x81, 0, 0, 1, 0x86, 0xdd), six, 6},
		{"cooked, short", linkCooked, cooked, nil, 0},
		{"cooked 2", linkCookedTwo, cookedTwo(8, 0), four, 4},
		{"cooked 2, IPv6", linkCookedTwo, cookedTwo(0x86, 0xdd), six, 6},
		{"loopback, little-endian", linkNull, family(binary.LittleEndian, 2), four, 4},
		{"loopback, big-endian", linkNull, family(binary.BigEndian, 2), four, 4},
		{"loopback, NetBSD", linkNull, family(binary.LittleEndian, 24), six, 6},
		{"loopback, FreeBSD", linkNull, family(binary.BigEndian, 28), six, 6},
		{"loopback, Darwin", linkNull, family(binary.LittleEndian, 30), six, 6},
		{"OpenBSD loopback", linkLoop, family(binary.BigEndian, 24), six, 6},
		{"loopback, other family", linkNull, family(binary.LittleEndian, 7), nil, 0},
		{"loopback, empty", linkNull, nil, nil, 0},
		{"not read", 127, four, nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ip, version := network(c.link, slices.Concat(c.head, c.ip))
			if version != c.version || version != 0 && !slices.Equal(ip, c.ip) {
				t.Errorf("got version %d, % x", version, ip)
			}
			for n := range len(c.head) {
				if _, v := network(c.link, c.head[:n]); v != 0 && n < len(c.head)-2 {
					t.Errorf("version %d from %d bytes of %d", v, n, len(c.head))
				}
			}
		})
	}
}

func TestLinkTypeString(t *testing.T) {
	for link, want := range map[LinkType]string{linkEthernet: "Ethernet", linkCookedTwo: "Linux cooked v2", 195: "link type 195"} {
		if got := link.String(); got != want {
			t.Errorf("%d: %q, want %q", uint32(link), got, want)
		}
	}
}
