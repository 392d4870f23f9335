package packet

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
)

const (
	client = "203.0.113.7:40000"
	server = "192.0.2.1:80"
	get    = "GET /login?a=b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8\r\n\r\n"
)

// The packets of a good connection: the client begins at 1000, the server at
// 5000.
var (
	syn    = tcp{from: client, to: server, flags: "S", seq: 1000}
	synAck = tcp{from: server, to: client, flags: "SA", seq: 5000, ack: 1001}
	ack    = tcp{from: client, to: server, flags: "A", seq: 1001, ack: 5001}
	ask    = tcp{from: client, to: server, flags: "PA", seq: 1001, ack: 5001, payload: get}
	answer = tcp{from: server, to: client, flags: "PA", seq: 5001, ack: 1001 + uint32(len(get)), payload: "HTTP/1.1 200 OK\r\n\r\n"}
)

func (p tcp) with(change func(*tcp)) tcp {
	change(&p)
	return p
}

func TestHandshakeAndRequest(t *testing.T) {
	again := ask.with(func(p *tcp) { p.seq += uint32(len(get)); p.ack += 19 })
	v6 := func(p tcp) tcp {
		swap := map[string]string{client: "[2001:db8::7]:40000", server: "[2001:db8:1::1]:80"}
		p.from, p.to = swap[p.from], swap[p.to]
		return p
	}
	const shake, request = edgeguard.KindHandshake, edgeguard.KindRequest
	cases := []struct {
		name     string
		packets  []tcp
		kinds    edgeguard.Kind // of all events, handshakes and requests only
		verified edgeguard.Kind
		requests int
	}{
		{"whole", []tcp{syn, synAck, ack, ask, answer}, shake | request, shake | request, 1},
		{"IPv6", []tcp{v6(syn), v6(synAck), v6(ack), v6(ask)}, shake | request, shake | request, 1},
		{"the SYN was before the capture", []tcp{synAck, ack, ask}, shake | request, shake | request, 1},
		{"the request completes it", []tcp{syn, synAck, ask}, shake | request, shake | request, 1},
		{"two requests", []tcp{syn, synAck, ack, ask, answer, again}, shake | request, shake | request, 2},
		{"repeated request", []tcp{syn, synAck, ack, ask, answer, ask}, shake | request, shake | request, 1},
		{"repeated SYN-ACK", []tcp{syn, synAck, synAck, ack, synAck, ask}, shake | request, shake | request, 1},
		{"scan answered by RST", []tcp{syn, synAck, ack.with(func(p *tcp) { p.flags = "R"; p.ack = 0 })}, 0, 0, 0},
		{"RST with the right numbers", []tcp{syn, synAck, ack.with(func(p *tcp) { p.flags = "RA" })}, 0, 0, 0},
		{"forged: no SYN-ACK", []tcp{syn, ack, ask}, request, 0, 1},
		{"forged: nothing before", []tcp{ask}, request, 0, 1},
		{"forged: wrong acknowledgement", []tcp{syn, synAck, ask.with(func(p *tcp) { p.ack++ })}, request, 0, 1},
		{"forged: acknowledges the SYN-ACK's own number", []tcp{syn, synAck, ask.with(func(p *tcp) { p.ack-- })}, request, 0, 1},
		{"forged: wrong sequence", []tcp{syn, synAck, ask.with(func(p *tcp) { p.seq++ })}, request, 0, 1},
		{"forged: no ACK flag", []tcp{syn, synAck, ask.with(func(p *tcp) { p.flags = "P" })}, request, 0, 1},
		{"forged: other port", []tcp{syn, synAck, ask.with(func(p *tcp) { p.from = "203.0.113.7:40001" })}, request, 0, 1},
		{"forged: other address", []tcp{syn, synAck, ask.with(func(p *tcp) { p.from = "203.0.113.8:40000" })}, request, 0, 1},
		{"forged: far on an open flow", []tcp{syn, synAck, ack, ask.with(func(p *tcp) { p.seq += 1 << 24; p.ack += 1 << 24 })},
			shake | request, shake, 1},
		{"new connection from the same port", []tcp{syn, synAck, ack, ask,
			syn.with(func(p *tcp) { p.seq = 9000 }),
			synAck.with(func(p *tcp) { p.seq = 77; p.ack = 9001 }),
			ask.with(func(p *tcp) { p.seq = 9001; p.ack = 78 })}, shake | request, shake | request, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t, linkEthernet)
			for _, p := range c.packets {
				b.tcp(p)
			}
			all, _ := b.read(Options{Kinds: shake | request})
			var kinds, verified edgeguard.Kind
			requests := 0
			for _, ev := range all {
				kinds |= ev.Kind
				verified |= ev.Verified
				if ev.Kind&request != 0 {
					requests++
				}
			}
			if kinds != c.kinds || verified != c.verified || requests != c.requests {
				t.Errorf("kinds %v, verified %v, %d requests; want %v, %v, %d",
					kinds, verified, requests, c.kinds, c.verified, c.requests)
			}
		})
	}
}

func TestRequestEvent(t *testing.T) {
	b := newBuilder(t, linkEthernet)
	for _, p := range []tcp{syn, synAck, ack, ask} {
		b.tcp(p)
	}
	all, stats := b.read(Options{})
	if len(all) != 4 || stats.Events != 4 {
		t.Fatalf("got %d events: %+v", len(all), stats)
	}
	first, last := all[0], all[3]
	if first.Kind != edgeguard.KindPacket|edgeguard.KindSYN || first.Verified != 0 {
		t.Errorf("SYN: kind %v, verified %v", first.Kind, first.Verified)
	}
	last.Header = nil
	want := edgeguard.Event{
		Time: start.Add(3 * time.Millisecond), Addr: netip.MustParseAddr("203.0.113.7"),
		Kind: edgeguard.KindPacket | edgeguard.KindRequest, Verified: edgeguard.KindRequest,
		Known: edgeguard.FieldPort | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldHost | edgeguard.FieldAgent,
		Port:  80, Method: "GET", Path: "/login?a=b", Host: "example.org", Agent: "curl/8",
	}
	if !sameEvent(last, want) {
		t.Errorf("got  %+v\nwant %+v", last, want)
	}
}

// sameEvent compares events without their function.
func sameEvent(a, b edgeguard.Event) bool {
	return a.Time.Equal(b.Time) && a.Addr == b.Addr && a.Kind == b.Kind && a.Verified == b.Verified &&
		a.Known == b.Known && a.Port == b.Port && a.Status == b.Status && a.Method == b.Method &&
		a.Path == b.Path && a.Host == b.Host && a.Agent == b.Agent && a.Node == b.Node && a.Proxied == b.Proxied
}

// A request's text must not stay in the place of a later packet's event.
func TestEventsAreClean(t *testing.T) {
	b := newBuilder(t, linkEthernet)
	for range 3 * batches * batchSize {
		b.tcp(ask)
		b.tcp(ack) // two, so that a request's place in a batch changes
		b.tcp(ack)
	}
	all, _ := b.read(Options{})
	for i, ev := range all {
		isRequest := ev.Kind&edgeguard.KindRequest != 0
		if isRequest != (i%3 == 0) || isRequest != (ev.Path == "/login?a=b") || isRequest != (ev.Host == "example.org") {
			t.Fatalf("event %d: %+v", i, ev)
		}
	}
}

func TestLocal(t *testing.T) {
	b := newBuilder(t, linkEthernet)
	forged := synAck.with(func(p *tcp) { p.from, p.to = "203.0.113.9:80", "203.0.113.7:41000" })
	fromIt := ack.with(func(p *tcp) { p.from, p.to = "203.0.113.7:41000", "203.0.113.9:80" })
	for _, p := range []tcp{syn, synAck, ack, ask, answer, forged, fromIt} {
		b.tcp(p)
	}
	for _, local := range []string{"192.0.2.0/24", "192.0.2.1/32", "192.0.2.77/24", "::ffff:192.0.2.0/120"} {
		all, stats := b.read(Options{Local: []netip.Prefix{netip.MustParsePrefix(local)}})
		if len(all) != 3 || stats.IP != 7 {
			t.Fatalf("%s: got %d events: %+v", local, len(all), stats)
		}
		for _, ev := range all {
			if ev.Addr.String() != "203.0.113.7" {
				t.Errorf("%s: event of %v", local, ev.Addr)
			}
		}
		if all[1].Verified != edgeguard.KindHandshake || all[2].Verified != edgeguard.KindRequest {
			t.Errorf("%s: verified %v and %v", local, all[1].Verified, all[2].Verified)
		}
	}
	// What our own connections are answered with takes no place.
	d := newDecoder(Options{Kinds: allKinds, Local: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}})
	ours := newBuilder(t, linkEthernet)
	ours.tcp(synAck)
	d.decode(&record{link: linkEthernet, data: ours.file.Bytes()[40:], timed: true}, newBatch())
	if d.stats.Events != 1 || d.flows.tags != nil {
		t.Errorf("an answer from outside was remembered: %+v", d.stats)
	}
	// The connection between two strangers shows nothing once it is known who
	// is local.
	all, _ := b.read(Options{Local: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Kinds: edgeguard.KindHandshake})
	if len(all) != 1 {
		t.Errorf("got %d handshakes, want 1", len(all))
	}
}

func TestKindsWanted(t *testing.T) {
	b := newBuilder(t, linkEthernet)
	for _, p := range []tcp{syn, synAck, ack, ask, answer} {
		b.tcp(p)
	}
	for kind, want := range map[edgeguard.Kind]int{
		0: 5, edgeguard.KindPacket: 5, edgeguard.KindSYN: 1, edgeguard.KindHandshake: 1,
		edgeguard.KindRequest: 1, edgeguard.KindUDP: 0, edgeguard.KindSYN | edgeguard.KindHandshake: 2,
	} {
		all, _ := b.read(Options{Kinds: kind})
		if len(all) != want {
			t.Errorf("%v: %d events, want %d", kind, len(all), want)
		}
		for _, ev := range all {
			if kind != 0 && ev.Kind&^kind != 0 {
				t.Errorf("%v: event of kind %v", kind, ev.Kind)
			}
		}
	}
}
