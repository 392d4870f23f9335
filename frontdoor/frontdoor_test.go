package frontdoor

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
)

func request(addr string) *edgeguard.Event {
	return &edgeguard.Event{Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest}
}

const day = uint32(24 * time.Hour / time.Second)

// An address in a CDN's ranges is a front door's only where nine in ten addresses of its source are
// that CDN's, of the last day.
func TestCDNs(t *testing.T) {
	edge := func(i int) string { return fmt.Sprintf("162.158.%d.%d", i/250, i%250+1) }
	for _, c := range []struct {
		edges, others int
		want          string
	}{{40, 0, "Cloudflare"}, {36, 4, "Cloudflare"}, {35, 5, ""}, {1, 0, "Cloudflare"}, {3000, 100, "Cloudflare"}, {100, 3000, ""}} {
		s, sec := New(7), uint32(1000)
		show := func(addr string) {
			s.NoteClient(request(addr), sec)
			sec++
		}
		order := rand.New(rand.NewPCG(1, 2)).Perm(c.edges + c.others) // no attacker's choice
		for _, i := range order {
			if i < c.edges {
				show(edge(i))
			} else {
				show(fmt.Sprintf("198.18.%d.%d", i/250, i%250))
			}
		}
		if got := s.DoorOf(request(edge(0)), sec); got != c.want {
			t.Errorf("%d edges, %d others: an edge's address is of %q, want %q", c.edges, c.others, got, c.want)
		}
		if got := s.DoorOf(request("203.0.113.9"), sec); got != "" {
			t.Errorf("%d edges, %d others: a client's address is of %q", c.edges, c.others, got)
		}
		if got := s.DoorOf(request("151.101.1.1"), sec); got != "" {
			t.Errorf("%d edges, %d others: another CDN's address is of %q", c.edges, c.others, got)
		}
		if got := s.DoorOf(&edgeguard.Event{Addr: netip.MustParseAddr(edge(0)), Kind: edgeguard.KindRequest, Named: true}, sec); got != "" {
			t.Errorf("an address that a proxy named is of %q", got)
		}
		for i := range 200 { // clients have come in place of the CDN
			s.NoteClient(request(fmt.Sprintf("192.0.2.%d", i)), sec+day+uint32(i)+1)
		}
		if got := s.DoorOf(request(edge(0)), sec+day+201); got != "" {
			t.Errorf("%d edges, %d others: a day later it is of %q", c.edges, c.others, got)
		}
	}
}

// One heavy client of a CDN's range, however much it sends, is one address.
func TestShareIsOfAddresses(t *testing.T) {
	s, sec := New(7), uint32(1000)
	for i := range 5000 {
		addr := "162.158.0.1"
		if i%500 == 0 {
			addr = fmt.Sprintf("192.0.2.%d", i/500)
		}
		s.NoteClient(request(addr), sec)
		sec++
	}
	if got := s.DoorOf(request("162.158.0.1"), sec); got != "" {
		t.Errorf("it is of %q", got)
	}
}

// What is published is published once: no range is in another, or inner. The addresses around a
// range's ends are of who has them by all ranges, one after the other.
func TestRanges(t *testing.T) {
	by := func(a netip.Addr) (cdn uint8, ranges int) {
		for i, one := range cdns {
			for _, p := range one.ranges {
				if p.Contains(a) {
					cdn = uint8(i + 1)
					ranges++
				}
			}
		}
		return cdn, ranges
	}
	for i, one := range cdns {
		for _, p := range one.ranges {
			s := span{}
			for _, s = range spans[p.Addr().BitLen()/128] {
				if s.first == word(p.Addr()) {
					break
				}
			}
			if p != p.Masked() || IsInner(p.Addr()) || s.cdn != uint8(i+1) {
				t.Errorf("%s: %v", one.name, p)
			}
			for _, w := range []uint64{s.first - 1, s.first, s.first + 1, s.last - 1, s.last, s.last + 1} {
				var b [16]byte
				binary.BigEndian.PutUint64(b[:], w)
				a := netip.AddrFrom16(b)
				if p.Addr().Is4() {
					a = netip.AddrFrom4([4]byte(b[4:]))
				}
				if cdn, ranges := by(a); cdnOf(a) != cdn || ranges > 1 {
					t.Errorf("%s: %v is of %d, want %d; of so many ranges: %d", one.name, a, cdnOf(a), cdn, ranges)
				}
			}
		}
		if len(one.ranges) < 9 {
			t.Errorf("%s has %d ranges", one.name, len(one.ranges))
		}
	}
	// Its first 64 bits are those of 104.16.0.0, which is Cloudflare's.
	if got := cdnOf(netip.MustParseAddr("0:0:6810::")); got != 0 {
		t.Errorf("an IPv6 address that begins as an IPv4 address is of %d", got)
	}
}

func TestShown(t *testing.T) {
	for name, c := range map[string]struct {
		addrs []string
		want  string
	}{
		"nothing":          {},
		"a balancer":       {[]string{"172.31.7.211"}, Inner},
		"a client, too":    {[]string{"172.31.7.211", "203.0.113.9", "172.31.7.212"}, ""},
		"a client's agent": {[]string{"162.158.0.1"}, ""},
		"a CDN":            {[]string{"162.158.0.1", "162.158.0.2", "172.64.0.1", "172.64.0.2", "2606:4700::1"}, "Cloudflare"},
		"half a CDN":       {[]string{"162.158.0.1", "162.158.0.2", "172.64.0.1", "172.64.0.2", "2606:4700::1", "203.0.113.9"}, ""},
	} {
		var events []edgeguard.Event
		for _, a := range c.addrs {
			events = append(events, *request(a))
		}
		if got := Shown(events); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A network that is named is clients' in each source, and in what a fleet counts, and its neighbour is
// not. Who names it twice changes nothing, and it is taken back whole.
func TestClients(t *testing.T) {
	s, sec := New(7), uint32(1000)
	ev, near := request("10.0.0.7"), request("10.0.1.7")
	s.NoteClient(ev, sec)
	one := Client{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Since: time.Unix(1, 0)}
	s.AddClient(one)
	again, ok := s.AddClient(Client{Prefix: one.Prefix, Since: time.Unix(2, 0)})
	if _, changes := s.Clients(); !ok || again != one || changes != 1 {
		t.Errorf("named again: %+v, %v, %d changes", again, ok, changes)
	}
	for addr, want := range map[*edgeguard.Event]string{ev: "", near: Inner} {
		if of, of2 := s.DoorOf(addr, sec), s.DoorOfAny(addr.Addr, sec); of != want || of2 != want {
			t.Errorf("%v is of %q, for a fleet of %q; want %q", addr.Addr, of, of2, want)
		}
	}
	if _, ok := s.RemoveClient(netip.MustParsePrefix("10.0.0.7/32")); ok {
		t.Error("a part of it was taken back")
	}
	if removed, ok := s.RemoveClient(one.Prefix); !ok || removed != one || s.DoorOf(ev, sec) != Inner {
		t.Errorf("taken back: %+v, %v, and is of %q", removed, ok, s.DoorOf(ev, sec))
	}
}
