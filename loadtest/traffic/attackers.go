package traffic

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The four who are up to no good, all in 203.0.113.0/24.
const (
	scraperAddr = "203.0.113.45"
	forcerAddr  = "203.0.113.77"
	proberAddr  = "203.0.113.130"
	slowAddr    = "203.0.113.201"
)

// attackers lets each of the four come at its own time.
func (s *site) attackers() {
	s.scraper()
	s.forcer()
	s.prober()
	s.slow()
}

// scraper copies the shop: about seven pages a second for five and a half
// minutes, which is over 2,000 in five minutes.
func (s *site) scraper() {
	addr := netip.MustParseAddr(scraperAddr)
	for second := range int64(330) {
		for range s.between(6, 8) {
			n := s.rng.IntN(products)
			s.log(line{at: opens + 20*60 + second, addr: addr, method: "GET",
				target: fmt.Sprintf("%s?variant=%d", product(n), 1+s.rng.IntN(9)),
				status: 200, bytes: 21000 + n*61, agent: "python-requests/2.32.3"})
		}
	}
}

// forcer guesses passwords, once a second for eleven minutes, through the
// XML-RPC door (written with two slashes, as such tools do) and the login form.
func (s *site) forcer() {
	addr := netip.MustParseAddr(forcerAddr)
	for second := range int64(660) {
		l := line{at: opens + 33*60 + second, addr: addr, method: "POST", target: "//xmlrpc.php", status: 200, bytes: 403,
			agent: "Mozilla/5.0 (Windows NT 6.1; WOW64; rv:40.0) Gecko/20100101 Firefox/40.1"}
		if s.rng.IntN(3) == 0 {
			l.target, l.bytes = "/wp-login.php", 2310
		}
		s.log(l)
	}
}

// doors are what the prober knocks at; {n} is counted up.
var doors = []string{
	"/.env", "/.git/config", "/backup-{n}.zip", "/phpmyadmin/", "/wp-config.php.bak", "/admin/config.php",
	"/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php", "/shell{n}.php", "/old/{n}/", "/cgi-bin/luci",
	"/wp-content/plugins/p{n}/readme.txt", "/api/v{n}/users", "/actuator/env", "/%2e%2e/%2e%2e/etc/passwd?n={n}",
}

// prober looks for open doors, two and more a second for two and a half
// minutes. It begins with TLS on the plain port, and once it writes another
// visitor's address where a careless parser would find it.
func (s *site) prober() {
	addr := netip.MustParseAddr(proberAddr)
	const start, agent = opens + 48*60, "Mozilla/5.0 zgrab/0.x"
	s.log(line{at: start, addr: addr, target: `\x16\x03\x01\x02\x00\x01\x00\x01\xFC`, status: 400, bytes: 157})
	s.log(line{at: start, addr: addr, method: "GET", target: "/", status: 200, bytes: 24117,
		agent: `x\x22 192.0.2.56 - - [02/Jun/2026:14:48:01 +0000] \x22GET / HTTP/1.1`})
	knocks := 0
	for second := range int64(150) {
		for range s.between(2, 3) {
			knocks++
			target := strings.ReplaceAll(doors[s.rng.IntN(len(doors))], "{n}", strconv.Itoa(knocks))
			status := 404
			if s.rng.IntN(12) == 0 {
				status = 403
			}
			s.log(line{at: start + 1 + second, addr: addr, method: "GET", target: target, status: status, bytes: 548, agent: agent})
		}
	}
}

// slow guesses as forcer does, but stays under every limit: 13 or 14 tries in
// five minutes. What a threshold cannot see belongs in a sample too.
func (s *site) slow() {
	addr := netip.MustParseAddr(slowAddr)
	for at := int64(opens + 40); at < opens+hour; at += int64(s.between(21, 24)) {
		s.log(line{at: at, addr: addr, method: "POST", target: "/wp-login.php", status: 200, bytes: 2310,
			referer: origin + "/wp-login.php", agent: browsers[0]})
	}
}
