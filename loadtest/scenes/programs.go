package scenes

import (
	"fmt"
)

// phones have WordPress' app: each opening asks for the blog, its posts, comments
// and settings, and a new post uploads its pictures, all over XML-RPC. Some share
// an address, as in a family.
func phones(l *log) {
	for n := range 24 {
		agent := "wp-iphone/24.7 (iPhone; iOS 18.4; Scale/3.00)"
		if n%2 == 0 {
			agent = "Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/AP2A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/124.0.0.0 Mobile Safari/537.36 wp-android/24.7"
		}
		b := &browser{addr: address(n / 2), agent: agent}
		for range l.between(3, 5) {
			at := l.in(morning, 12*hour)
			for range l.between(6, 11) {
				l.post(b, l.in(at, 12), "/xmlrpc.php", 200, "")
			}
		}
		at := l.in(morning, 12*hour)
		for range l.between(4, 10) {
			at += int64(l.between(3, 12))
			l.post(b, at, "/xmlrpc.php", 200, "")
		}
	}
}

// app is an app of the site's own. After a pause it asks for all that is new at
// once; with an expired token each of these is 401, until it has a new one. 200
// people have it behind one address of a carrier.
func app(l *log) {
	feeds := []string{"profile", "orders", "messages", "offers", "stores", "cart", "notifications"}
	for n := range 350 {
		addr := address(n / 3)
		if n >= 150 {
			addr = address(400)
		}
		b := &browser{addr: addr, agent: pick(l, []string{"okhttp/4.12.0", "Harbour/7.1 (iPhone15,3; iOS 18.4) CFNetwork/1568 Darwin/24.0"})}
		for range l.between(2, 6) {
			at := l.in(morning, 12*hour)
			if l.one(3) {
				for _, f := range feeds {
					l.get(b, at, "/api/v1/"+f, 401, "")
				}
				l.post(b, at+1, "/api/v1/token", 200, "")
			}
			for _, f := range feeds {
				l.get(b, l.in(at+1, 4), "/api/v1/"+f, 200, "")
			}
			for range l.between(3, 40) {
				at += int64(l.between(1, 6))
				status := 200
				if l.one(25) { // something that was sold meanwhile
					status = 404
				}
				l.get(b, at, fmt.Sprintf("/api/v1/items/%d", l.rng.IntN(5000)), status, "")
			}
		}
	}
}

// jetpack is WordPress.com's service for a site: it synchronizes after each
// change, reads statistics, and its monitor looks every five minutes.
func jetpack(l *log) {
	const agent = "Jetpack by WordPress.com"
	call := func(b *browser, at int64) {
		l.post(b, at, fmt.Sprintf("/xmlrpc.php?for=jetpack&token=8Hq%%2A1%%3A1&timestamp=%d&nonce=%08x&body-hash=&signature=aWd%08x%%3D", at, l.rng.Uint32(), l.rng.Uint32()), 200, "")
	}
	for n := range 6 {
		b := &browser{addr: address(200 + n), agent: agent}
		for at := int64(morning); at < morning+24*hour; at += int64(l.between(5, 50)) * minute {
			call(b, at)
		}
		for range l.between(2, 6) { // a post, an update of plugins, a full synchronization
			at := l.in(morning, 12*hour)
			for range l.between(5, 30) {
				call(b, l.in(at, 3*minute))
			}
		}
	}
	for n := range 2 {
		b := &browser{addr: address(210 + n), agent: "jetmon/1.0 (Jetpack Site Uptime Monitor by WordPress.com)"}
		for at := int64(morning); at < morning+24*hour; at += 5 * minute {
			l.lines = append(l.lines, line{at, b.addr, "HEAD", "/", 200, 0, "", b.agent})
		}
	}
}

var crawlerAgents = []string{
	"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36",
	"Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
}

// crawlers ask for what the site had before it was moved, and come in bursts.
func crawlers(l *log) {
	for n, agent := range crawlerAgents {
		b := &browser{addr: address(220 + n), agent: agent}
		l.get(b, morning, "/robots.txt", 200, "")
		l.get(b, morning+2, "/sitemap.xml", 404, "")
		at := int64(morning)
		for at < morning+12*hour {
			pause := l.between(4, 40)
			if l.one(60) { // a minute at one page a second
				for range 60 {
					l.crawl(b, at)
					at++
				}
			}
			l.crawl(b, at)
			at += int64(pause)
		}
	}
}

func (l *log) crawl(b *browser, at int64) {
	if !l.one(4) {
		l.get(b, at, article(l.rng.IntN(posts)), pick(l, []int{200, 200, 304}), "")
		return
	}
	n := l.rng.IntN(2000)
	gone := []string{
		fmt.Sprintf("/showthread.php?t=%d", n), fmt.Sprintf("/news/%d.html", n), fmt.Sprintf("/shop/item-%d", n),
		fmt.Sprintf("/article.asp?id=%d", n), fmt.Sprintf("/members/harbour%d/", n%300),
		fmt.Sprintf("/pages/%s.php", []string{"about", "history", "boats", "prices", "contact", "team", "links", "map"}[n%8]),
	}
	l.get(b, at, pick(l, gone), pick(l, []int{404, 404, 410}), "")
}

// monitors ask for one page each, all day. One was left on a page that is gone,
// and one asks for a page without its login.
func monitors(l *log) {
	for n, m := range []struct {
		target string
		status int
	}{{"/", 200}, {"/health", 200}, {"/status.php", 404}, {"/admin/ping", 401}, {"/server-status", 403}} {
		b := &browser{addr: address(240 + n), agent: "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"}
		for at := int64(morning); at < morning+24*hour; at += int64(l.between(29, 31)) {
			status := m.status
			if at > morning+7*hour && at < morning+7*hour+10*minute { // an outage
				status = 503
			}
			l.lines = append(l.lines, line{at, b.addr, "HEAD", m.target, status, 0, "", b.agent})
		}
	}
}

// feeds are read by programs, several of a household behind one address; some
// ask for what was the feed before the site was moved.
func feeds(l *log) {
	agents := []string{"Feedly/1.0 (+http://www.feedly.com/fetcher.html; 12 subscribers)", "Tiny Tiny RSS/24.05", "NetNewsWire (RSS Reader; https://netnewswire.com/)"}
	for n := range 60 {
		b := &browser{addr: address(n / 2), agent: pick(l, agents)}
		target, status := "/feed/", 200
		switch n % 5 {
		case 1:
			target, status = "/rss.php", 404
		case 2:
			target, status = "/index.php?format=feed&type=rss", 410
		}
		for at := l.in(morning, hour); at < morning+24*hour; at += int64(l.between(5, 60)) * minute {
			l.get(b, at, target, status, "")
			if status == 200 && l.one(3) {
				l.get(b, at+1, "/comments/feed/", 304, "")
			}
		}
	}
}

// aptClients update from a mirror that has only the lists that are compressed otherwise: each
// asks for every .gz in vain. Half of them are behind one address.
func aptClients(l *log) {
	for n := range 40 {
		addr := address(n)
		if n >= 20 {
			addr = address(400)
		}
		b := &browser{addr: addr, agent: "Debian APT-HTTP/1.3 (2.6.1)"}
		for range l.between(1, 3) {
			at := l.in(morning, 12*hour)
			for _, suite := range []string{"bookworm", "bookworm-updates", "bookworm-security", "bookworm-backports"} {
				l.get(b, at, "/debian/dists/"+suite+"/InRelease", 200, "")
				for _, part := range []string{"main", "contrib", "non-free", "non-free-firmware"} {
					for _, list := range []string{"binary-amd64/Packages.gz", "i18n/Translation-en.gz", "Contents-amd64.gz"} {
						l.get(b, l.in(at+1, 20), "/debian/dists/"+suite+"/"+part+"/"+list, 404, "")
					}
				}
				at += int64(l.between(1, 4))
			}
		}
	}
}

// packageClients are pip, npm and git: a package's sources that are gone from a mirror, and the
// objects of a repository that are in its packs, which a client of the plain protocol finds out by asking.
func packageClients(l *log) {
	for n := range 50 {
		b := &browser{addr: address(n), agent: pick(l, []string{"pip/24.0 (python 3.12)", "npm/10.8 node/v20.11", "git/2.39.5"})}
		for range l.between(2, 6) {
			at := l.in(morning, 12*hour)
			for range l.between(6, 14) {
				name, at := l.rng.IntN(400), l.in(at, 30)
				switch b.agent[:3] {
				case "pip":
					l.get(b, at, fmt.Sprintf("/simple/package-%d/", name), 200, "")
					l.get(b, at+1, fmt.Sprintf("/packages/%02x/%02x/package-%d-1.%d.tar.gz", name%256, name%31, name, name%9), 404, "")
				case "npm":
					l.get(b, at, fmt.Sprintf("/package-%d", name), 200, "")
					l.get(b, at+1, fmt.Sprintf("/package-%d/-/package-%d-1.%d.0.tgz", name, name, name%9), 404, "")
				default:
					l.get(b, at, fmt.Sprintf("/project-%d.git/objects/%02x/%038x", n%5, name%256, name), 404, "")
				}
			}
			if b.agent[:3] == "git" {
				l.get(b, at+31, fmt.Sprintf("/project-%d.git/objects/info/packs", n%5), 200, "")
			}
		}
	}
}
