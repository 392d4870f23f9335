package scenes

import (
	"fmt"
	"net/netip"
)

// assets are visits to pages that show 150 things each.
func assets(l *log) {
	for n := range 90 {
		addr, from, span := address(n), int64(morning), 8*hour
		if n >= 60 { // an office; somebody has sent the link to all
			addr, from, span = netip.MustParseAddr("198.51.100.30"), morning+2*hour, 10*minute
		}
		b := &browser{addr: addr, agent: pick(l, agents), cached: true}
		at := l.in(from, span)
		for range l.between(1, 4) {
			page := fmt.Sprintf("/gallery/%d/", l.rng.IntN(40))
			l.get(b, at, page, 200, origin+"/gallery/")
			for i := range 150 {
				kind := []string{"jpg", "webp", "js", "css", "svg", "json"}[i%6]
				l.get(b, l.in(at, 5), fmt.Sprintf("/assets%spart-%d.%s", page, i, kind), pick(l, []int{200, 200, 304}), origin+page)
			}
			at += int64(l.between(15, 200))
		}
	}
}

// webhooks are what a payment service sends when a month's bills are paid. A few
// time out and are sent again.
func webhooks(l *log) {
	b := &browser{addr: netip.MustParseAddr("198.51.100.31"), agent: "PayWire-Webhooks/1.0 (+https://paywire.example/docs/webhooks)"}
	for range 3000 {
		at, status := l.in(morning, 10*minute), 200
		if l.one(50) {
			status = pick(l, []int{502, 504, 409})
			l.post(b, at+30, "/hooks/payments", 200, "")
		}
		l.post(b, at, "/hooks/payments", status, "")
	}
}

// fastCrawler reads a large site as fast as it is let.
func fastCrawler(l *log) {
	b := &browser{addr: netip.MustParseAddr("198.51.100.32"), agent: crawlerAgents[1]}
	for at := int64(morning); at < morning+30*minute; at++ {
		for range 5 {
			if l.rng.IntN(100) < 8 {
				l.get(b, at, fmt.Sprintf("/shop/item-%d", l.rng.IntN(9000)), pick(l, []int{404, 410}), "")
				continue
			}
			l.get(b, at, fmt.Sprintf("/shop/boat-%d/", l.rng.IntN(9000)), 200, "")
		}
	}
}

// passwordManagers: a new password was set on one device, and the others send the
// old one whenever the form is shown. WordPress answers each of these with 200.
func passwordManagers(l *log) {
	for n := range 60 {
		b := &browser{addr: address(n), agent: pick(l, append(agents, phoneAgents...))}
		for day := range int64(3) {
			for range l.between(6, 9) {
				at := l.in(morning+day*24*hour, 13*hour)
				l.get(b, at, "/wp-login.php", 200, "")
				l.post(b, at+2, "/wp-login.php", 200, origin+"/wp-login.php")
			}
			at := l.logIn(b, l.in(morning+day*24*hour, 13*hour), 0)
			l.read(b, at+10, l.between(2, 6))
		}
	}
}

// sourceMaps are asked for by browsers whose developer tools are open, for each
// script and style, at every reload.
func sourceMaps(l *log) {
	for n := range 20 {
		addr := address(n)
		if n >= 12 {
			addr = netip.MustParseAddr("198.51.100.33")
		}
		b := &browser{addr: addr, agent: pick(l, agents)}
		at := l.in(morning, 3*hour)
		for range l.between(10, 60) {
			from := l.view(b, at, "/", "")
			for i := range 24 {
				l.get(b, at+1, fmt.Sprintf("/assets/chunk-%d.%s.map", i, []string{"js", "css"}[i%2]), 404, from)
			}
			at += int64(l.between(4, 120))
		}
	}
}

// administrator is the backend of an application that sends everything by POST and
// answers with 200.
func administrator(l *log) {
	l.backend("198.51.100.34", []string{"/administrator/", "/administrator/orders/list", "/administrator/orders/save", "/administrator/search"}, "")
}

// administratorPHP is one whose front controller is named as Joomla's.
func administratorPHP(l *log) {
	l.backend("198.51.100.35", []string{"/administrator/index.php"}, ".php")
}

func (l *log) backend(office string, targets []string, login string) {
	for n := range 12 {
		addr := address(n)
		if n >= 4 {
			addr = netip.MustParseAddr(office)
		}
		b := &browser{addr: addr, agent: pick(l, agents)}
		at := l.in(morning, hour)
		l.get(b, at, "/administrator/", 200, "")
		l.post(b, at+9, "/administrator/login"+login, 302, origin+"/administrator/")
		for end := at + 7*hour; at < end; at += int64(l.between(10, 200)) {
			target := pick(l, targets)
			l.post(b, at+10, target, 200, origin+"/administrator/")
		}
	}
}
