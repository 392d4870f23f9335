package traffic

import (
	"fmt"
	"net/netip"
)

// The ordinary visitors: how many, how many of them sit behind the one address
// of an office, and how many come over IPv6.
const (
	visitors   = 150
	colleagues = 9
	overV6     = 27
)

const (
	officeAddr = "192.0.2.10"
	origin     = "https://harbour.example"
)

var browsers = []string{
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15",
	"Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0",
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:139.0) Gecko/20100101 Firefox/139.0",
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/604.1",
	"Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile Safari/537.36",
}

// people lets every visitor browse once, and the owner log in from the office.
func (s *site) people() {
	for i := range visitors {
		s.visit(visitorAddr(i), browsers[s.rng.IntN(len(browsers))], opens+int64(s.rng.IntN(hour)))
	}
	s.owner()
}

// visitorAddr returns each visitor an address of a documentation range; the
// colleagues share the office's, and of the visitors over IPv6 every third
// shares its /64 with the one before, as a telephone and a laptop do.
func visitorAddr(i int) netip.Addr {
	switch {
	case i < colleagues:
		return netip.MustParseAddr(officeAddr)
	case i < colleagues+overV6:
		n := i - colleagues
		home := n - n/3
		return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:%x::%x", 0x10+home%5, 0x400+home*7, 0x1a2b+i*37))
	case i%2 == 0:
		return netip.AddrFrom4([4]byte{192, 0, 2, byte(20 + i)})
	default:
		return netip.AddrFrom4([4]byte{198, 51, 100, byte(20 + i)})
	}
}

// visit is one person's stay: a first page with the theme, then a few more at
// a reader's pace.
func (s *site) visit(addr netip.Addr, agent string, at int64) {
	referer := ""
	if s.rng.IntN(3) == 0 {
		referer = "https://www.search.example/"
	}
	for n := range s.between(1, 6) {
		target, pictures := s.page()
		s.log(line{at: at, addr: addr, method: "GET", target: target, status: 200,
			bytes: s.between(9000, 31000), referer: referer, agent: agent})
		referer = origin + target
		if n == 0 {
			s.fetchTheme(addr, agent, referer, at)
		}
		for range pictures {
			s.fetchPicture(addr, agent, referer, at+int64(s.rng.IntN(2)))
		}
		at += int64(s.between(4, 90))
	}
}

func (s *site) fetchTheme(addr netip.Addr, agent, referer string, at int64) {
	status := 200
	if s.rng.IntN(4) == 0 {
		status = 304 // has been here before
	}
	for _, file := range theme {
		bytes := file.bytes
		if status == 304 {
			bytes = 0
		}
		s.log(line{at: at + int64(s.rng.IntN(2)), addr: addr, method: "GET", target: file.target, status: status,
			bytes: bytes, referer: referer, agent: agent})
	}
}

func (s *site) fetchPicture(addr netip.Addr, agent, referer string, at int64) {
	n := s.rng.IntN(products)
	l := line{at: at, addr: addr, method: "GET", target: picture(n), status: 200,
		bytes: 14000 + n*217, referer: referer, agent: agent}
	if n == 7 { // a picture that the shop has lost: everyone meets a 404 now and then
		l.status, l.bytes = 404, 548
	}
	s.log(l)
}

// owner logs in, mistypes the password once, and edits a page.
func (s *site) owner() {
	office, agent, at := netip.MustParseAddr(officeAddr), browsers[1], int64(opens+11*60)
	for i, status := range []int{200, 200, 302} {
		method := "POST"
		if i == 0 {
			method = "GET"
		}
		s.log(line{at: at, addr: office, method: method, target: "/wp-login.php", status: status,
			bytes: 2310, referer: origin + "/wp-login.php", agent: agent})
		at += int64(s.between(6, 12))
	}
	for range 30 {
		at += int64(s.between(12, 20)) // the editor's heartbeat
		s.log(line{at: at, addr: office, method: "POST", target: "/wp-admin/admin-ajax.php", status: 200,
			bytes: 132, referer: origin + "/wp-admin/post.php?post=214&action=edit", agent: agent})
	}
}
