package traffic

import "net/netip"

// robots lets the two welcome machines work: both keep to a pace, and neither
// may ever be blocked.
func (s *site) robots() {
	s.crawler()
	s.monitor()
}

// crawler reads the site from end to end, a page about every nine seconds.
func (s *site) crawler() {
	addr := netip.MustParseAddr("198.51.100.17")
	const agent = "Mozilla/5.0 (compatible; ExampleBot/2.1; +https://search.example/bot.html)"
	s.log(line{at: opens + 3, addr: addr, method: "GET", target: "/robots.txt", status: 200, bytes: 118, agent: agent})
	for at := int64(opens + 5); at < opens+hour; at += int64(s.between(6, 12)) {
		target, _ := s.page()
		l := line{at: at, addr: addr, method: "GET", target: target, status: 200, bytes: s.between(9000, 31000), agent: agent}
		if s.rng.IntN(40) == 0 { // an old link
			l.target, l.status, l.bytes = "/shop/summer-sale/", 404, 8120
		}
		s.log(l)
	}
}

// monitor asks for the front page once a minute, to the second.
func (s *site) monitor() {
	addr := netip.MustParseAddr("192.0.2.250")
	for at := int64(opens + 20); at < opens+hour; at += 60 {
		s.log(line{at: at, addr: addr, method: "HEAD", target: "/", status: 200, agent: "UptimeProbe/1.4 (+https://uptime.example)"})
	}
}
