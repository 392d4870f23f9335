package packet

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket/layers"

	"edgeguard"
	"edgeguard/internal/realdata"
)

// udp adds a UDP datagram.
func (b *builder) udp(from, to string) {
	b.t.Helper()
	f, d := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	b.layers(ethernet(f.Addr()), network3(f.Addr(), d.Addr(), layers.IPProtocolUDP),
		&layers.UDP{SrcPort: layers.UDPPort(f.Port()), DstPort: layers.UDPPort(d.Port())})
}

// TestAnswers: which packets of a conversation are answers, given as "q" and "a".
func TestAnswers(t *testing.T) {
	const here, there, high = "203.0.113.7:40000", "192.0.2.1:53", "192.0.2.1:50051"
	send := func(from, to, flags string) func(*builder) {
		if flags == "udp" {
			return func(b *builder) { b.udp(from, to) }
		}
		return func(b *builder) { b.tcp(tcp{from: from, to: to, flags: strings.ReplaceAll(flags, "-", "")}) }
	}
	later := func(d time.Duration) func(*builder) { return func(b *builder) { b.step += d } }
	for _, c := range []struct {
		name    string
		packets []func(*builder)
		want    string
	}{
		{"UDP", []func(*builder){send(here, there, "udp"), send(there, here, "udp"), send(here, there, "udp"), send(there, here, "udp")}, "qaqa"},
		{"UDP between high ports", []func(*builder){send(high, here, "udp"), send(here, high, "udp")}, "qa"},
		{"UDP that began before", []func(*builder){send(there, here, "udp"), send(here, there, "udp")}, "aq"},
		{"UDP from a low port, late in the capture", []func(*builder){send(high, "192.0.2.9:1", "udp"), later(2 * time.Minute), send(there, here, "udp")}, "qq"},
		{"TCP to a high port", []func(*builder){send(here, high, "S"), send(high, here, "SA"), send(here, high, "A"), send(high, here, "PA"), send(high, here, "FA")}, "qaqaa"},
		{"a closed port", []func(*builder){send(here, high, "S"), send(high, here, "RA")}, "qa"},
		{"FIN and NULL", []func(*builder){send(here, high, "F"), send(high, here, "RA"), send(here, there, "-"), send(there, here, "RA")}, "qaqa"},
		{"TCP that began before", []func(*builder){send(there, here, "PA"), send(here, there, "A"), send(there, here, "FA")}, "aqa"},
		{"a connection the other way", []func(*builder){send(here, high, "S"), send(high, here, "S"), send(here, high, "SA")}, "qqa"},
		{"TCP and UDP are apart", []func(*builder){send(here, there, "S"), send(there, here, "udp"), later(2 * time.Minute), send("192.0.2.8:53", here, "udp")}, "qaq"},
		{"a flow that is long idle", []func(*builder){send(here, high, "udp"), later(11 * time.Minute), send(high, here, "udp"), send(here, high, "udp")}, "qqa"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t, linkEthernet)
			for _, add := range c.packets {
				add(b)
			}
			for _, asks := range []bool{true, false} {
				all, _ := b.read(Options{Kinds: edgeguard.KindPacket, Answers: asks})
				got := ""
				for _, ev := range all {
					got += map[bool]string{false: "q", true: "a"}[ev.Answer]
				}
				want := c.want
				if !asks {
					want = strings.Repeat("q", len(want))
				}
				if got != want {
					t.Errorf("asked for %t: %s, want %s", asks, got, want)
				}
			}
		})
	}
}

// TestAskedForgets: a flood of flows takes no more memory, and the flows that were seen
// last are still known.
func TestAskedForgets(t *testing.T) {
	table := &firstSpeakers{seed: 1}
	h := func(i int, answer bool) *header {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 50_000)
		server := netip.MustParseAddrPort("192.0.2.1:60000")
		if answer {
			client, server = server, client
		}
		return &header{source: client.Addr(), dest: server.Addr(), sourcePort: client.Port(), destPort: server.Port(), ports: true, kind: edgeguard.KindPacket | edgeguard.KindUDP}
	}
	wrong := 0
	for i := range 1_000_000 {
		if table.answer(uint32(i/1000), h(i, false)) {
			t.Fatalf("question %d is an answer", i)
		}
		if i >= 10_000 && !table.answer(uint32(i/1000), h(i-10_000, true)) {
			wrong++
		}
	}
	if wrong > 1000 {
		t.Errorf("%d answers of a million, 10 s after their questions, are not known", wrong)
	}
}

// TestPortsOfScans counts the different ports that addresses asked for in real captures:
// scanners have as many as their label says, and who answers them has few.
func TestPortsOfScans(t *testing.T) {
	const scans, web = "pcap-scans-nmap-types", "pcap-web-ndpi"
	for _, c := range []struct {
		file, scanner string
		least         int // that the scanner asked for; what others may have at most is 20
	}{
		{"nmap_fin_scan.pcap", "192.168.1.10", 1000},
		{"nmap_null_scan.pcap", "192.168.1.10", 1000},
		{"nmap_tcp_syn_scan.pcap", "192.168.1.10", 1000},
		{"nmap_tcp_connect_scan.pcap", "192.168.1.10", 1000},
		{"nmap_udp_scan.pcap", "192.168.1.10", 1000},
		{"nmap_version_scan.pcap", "192.168.1.10", 1000},
		{"nmap_ftp_bounce_scan.pcap", "192.168.1.25", 999}, // the relay scans for another
	} {
		holdPorts(t, realdata.Path(t, scans, c.file), c.scanner, c.least)
	}
	files, err := os.ReadDir(realdata.Path(t, web))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f.Name(), ".pcap") {
			holdPorts(t, realdata.Path(t, web, f.Name()), "", 0)
		}
	}
}

func holdPorts(t *testing.T, path, scanner string, least int) {
	t.Helper()
	r, err := Open(path, Options{Kinds: edgeguard.KindPacket, Answers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ports := map[netip.Addr]map[uint16]bool{}
	for {
		batch, err := r.Next()
		for i := range batch {
			if ev := &batch[i]; ev.Known&edgeguard.FieldPort != 0 && !ev.Answer {
				if ports[ev.Addr] == nil {
					ports[ev.Addr] = map[uint16]bool{}
				}
				ports[ev.Addr][ev.Port] = true
			}
		}
		if err != nil {
			break
		}
	}
	for addr, n := range ports {
		if addr.String() != scanner && len(n) > 20 {
			t.Errorf("%s: %s asked for %d ports", path, addr, len(n))
		}
	}
	if scanner != "" && len(ports[netip.MustParseAddr(scanner)]) < least {
		t.Errorf("%s: the scanner asked for %d ports, want %d", path, len(ports[netip.MustParseAddr(scanner)]), least)
	}
}
