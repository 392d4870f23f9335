package config

import (
	"fmt"
	"net/netip"
	"slices"

	"edgeguard"
	"edgeguard/config/key"
	"edgeguard/config/yaml"
)

// Packet is the network interfaces that are listened to.
type Packet struct {
	Interfaces []string
	// Inside is what is on this side: packets from elsewhere to it count. Without, the kernel
	// says what comes in.
	Inside      []netip.Prefix
	Kinds       edgeguard.Kind
	Promiscuous bool
	Ring        int64 // bytes of an interface's ring
}

// packetKinds are those that an interface shows. How many packets a sender's data makes is not known there,
// since network cards put them together, and requests are left to logs and proxies.
var packetKinds = []string{"handshake", "syn", "udp", "icmp"}

// The bytes of a ring.
const leastRing, usualRing, mostRing = 1 << 20, 16 << 20, 1 << 30

func newPacket() *Packet {
	return &Packet{Kinds: edgeguard.KindHandshake | edgeguard.KindSYN, Ring: usualRing}
}

func (p *Packet) keys() key.List {
	return key.List{
		key.Words("interface", &p.Interfaces, readInterfaces, "a name, or a list of names", "where to listen. One that is not there is waited for").Usual("required"),
		key.Prefixes("inside", &p.Inside, "the addresses on this side: what comes from others to them counts. Required for a mirror port").If(p.Inside != nil).Usual("the kernel says"),
		key.Of("kinds", &p.Kinds, readKinds(packetKinds), kindsText, "a list of `handshake`, `syn`, `udp`, `icmp`", "what a packet counts as. Without `handshake` nobody can be blocked, and many clients at once look forged"),
		key.Truth("promiscuous", &p.Promiscuous, "`true`: also packets for other hosts, of a mirror port. Requires `inside`"),
		key.Size("ring", &p.Ring, leastRing, mostRing, "kernel memory for each interface. What finds it full is `lost`, and an alarm"),
	}
}

func (p *Packet) entry() Entry {
	return Entry{Files: len(p.Interfaces), source: source{p.Kinds, edgeguard.FieldPort, 5}}
}

func readPacket(n yaml.Node) *Packet {
	p := newPacket()
	p.keys().Read(n)
	if len(p.Interfaces) == 0 && !n.Touched("interface") {
		n.Wrong("has no interface", "set interface, such as eth0")
	}
	if p.Promiscuous && len(p.Inside) == 0 && !n.Touched("inside") {
		n.WrongField("promiscuous", "is set and inside is not: packets that are not for this host come from both sides", "set inside to the addresses on this side, such as [192.0.2.0/24]")
	}
	return p
}

func readInterfaces(n yaml.Node) (names []string) {
	n.List(func(n yaml.Node) {
		name := n.Like(device, "the name of an interface, such as eth0")
		switch {
		case name == "any":
			n.Wrong("any is no interface: packets that go through several would be counted several times", "name the interfaces that clients come through")
		case slices.Contains(names, name):
			n.Wrong(fmt.Sprintf("%q is there twice", name), "remove one of them")
		}
		names = append(names, name)
	})
	return names
}
