package scenes

import (
	"fmt"
	"net/netip"
)

// spaOffice is a working day of 80 people in a single-page application.
func spaOffice(l *log) {
	l.spa(netip.MustParseAddr("198.51.100.20"), func(n int) string { return fmt.Sprintf("/api/v2/records/%d", n) }, "/api/v2/changes")
}

// spaOfficeData is the same application with other paths.
func spaOfficeData(l *log) {
	l.spa(netip.MustParseAddr("198.51.100.21"), func(n int) string { return fmt.Sprintf("/data/records/%d", n) }, "/rpc/changes")
}

// spa has three hours of 80 people, each of whom opens a page every few minutes and
// has it poll.
func (l *log) spa(addr netip.Addr, call func(int) string, poll string) {
	const page = origin + "/app/"
	for range 80 {
		b := &browser{addr: addr, agent: pick(l, agents)}
		at := l.in(morning, 40*minute)
		l.get(b, at, "/app/", 200, "")
		for _, file := range []string{"/app/main.8f2c.js", "/app/vendor.91aa.js", "/app/main.77ab.css"} {
			l.get(b, at, file, 200, page)
		}
		end := morning + 3*hour
		for tick := at; tick < end; tick += 15 {
			l.get(b, tick, poll, pick(l, []int{200, 204, 304}), page)
		}
		for at < end {
			for range 40 {
				l.get(b, l.in(at, 3), call(l.rng.IntN(9000)), 200, page)
			}
			at += int64(l.between(90, 420))
		}
	}
}

// carrierLogins is an evening of a carrier's NAT at a site with a login of its own,
// which answers 401 to a wrong password.
func carrierLogins(l *log) {
	addr := netip.MustParseAddr("198.51.100.22")
	for n := range 300 {
		b := &browser{addr: addr, agent: pick(l, phoneAgents)}
		at := l.in(morning+10*hour, 4*hour)
		l.read(b, at, l.between(1, 6))
		if n%10 >= 3 {
			continue
		}
		l.get(b, at+20, "/login", 200, origin+"/")
		at += 30
		if n%5 < 2 || l.one(10) {
			for range l.between(1, 3) {
				l.post(b, at, "/login", 401, origin+"/login")
				at += int64(l.between(5, 20))
			}
		}
		l.post(b, at, "/login", 302, origin+"/login")
		for range l.between(2, 8) {
			at += int64(l.between(5, 90))
			l.get(b, at, fmt.Sprintf("/account/orders/%d", l.rng.IntN(5000)), 200, origin+"/account")
		}
	}
}

// class are 30 pupils who got new passwords on paper. All log in when the teacher
// says so; half mistype, some thrice.
func class(l *log) {
	addr := netip.MustParseAddr("198.51.100.23")
	for n := range 30 {
		b := &browser{addr: addr, agent: pick(l, agents)}
		mistyped := 0
		if n%3 > 0 {
			mistyped = l.between(1, 3)
		}
		at := l.logIn(b, l.in(morning+hour, 2*minute), mistyped)
		l.read(b, at+10, l.between(2, 8))
	}
}

// folder is where documents lie on the WebDAV server.
const folder = "/remote.php/dav/files/team/"

var documents = []string{"Minutes.docx", "Budget.xlsx", "Plan.pptx", "Report.docx", "Prices.xlsx", "Letter.docx", "Photo-1.jpg", "Photo-2.jpg",
	"Contract.pdf", "Invoice-17.pdf", "Invoice-18.pdf", "Tasks.xlsx", "Logo.svg", "Notes.txt", "Offer.docx", "Map.png"}

// dav logs a request of a WebDAV client.
func (l *log) dav(b *browser, at int64, method, target string, status int) {
	l.lines = append(l.lines, line{at, b.addr, method, target, status, l.between(200, 3000), "", b.agent})
}

// sale is a shop's evening.
func sale(l *log) { l.crowd(4000, 4*hour, 4, "/sale/") }

// mailing is the hours after a mail was sent to all customers.
func mailing(l *log) { l.crowd(5000, 3*hour, 10, "/news/spring-offer/") }

// crowd has so many come for one page, half of them in the first half hour. One in logins logs in, and one in ten
// of these mistypes.
func (l *log) crowd(people int, span int64, logins int, page string) {
	for n := range people {
		b := &browser{addr: scattered(n), agent: pick(l, append(agents, phoneAgents...)), cached: true}
		at := l.in(morning+10*hour, 30*minute)
		if n%2 == 1 {
			at = l.in(morning+10*hour, span)
		}
		l.get(b, at, page, 200, "")
		if !l.one(logins) {
			continue
		}
		l.get(b, at+20, "/login", 200, origin+page)
		for at += 30; l.one(10); at += int64(l.between(5, 20)) {
			l.post(b, at, "/login", 401, origin+"/login")
		}
		l.post(b, at, "/login", 302, origin+"/login")
		l.get(b, at+5, "/account/orders", 200, origin+"/account")
	}
}

// finder: for each folder and file Finder asks for its twin ._name, which is on
// no server, and for a few files that only Macs have.
func finder(l *log) {
	for n := range 10 {
		b := &browser{addr: address(n), agent: "WebDAVFS/3.0.0 (03008000) Darwin/24.4.0 (arm64)"}
		for range l.between(2, 5) {
			at := l.in(morning, 8*hour)
			for _, name := range []string{"", ".DS_Store", ".hidden", ".metadata_never_index", ".Spotlight-V100"} {
				status := 404
				if name == "" {
					status = 207
				}
				l.dav(b, at, "PROPFIND", folder+name, status)
			}
			for _, name := range documents {
				at += int64(l.between(0, 1))
				l.dav(b, at, "PROPFIND", folder+name, 207)
				l.dav(b, at, "PROPFIND", folder+"._"+name, 404)
			}
			name := pick(l, documents)
			l.dav(b, at+20, "GET", folder+name, 200)
			l.dav(b, at+300, "LOCK", folder+name, 200)
			l.dav(b, at+301, "PUT", folder+"._"+name, 201)
			l.dav(b, at+301, "PUT", folder+name, 204)
			l.dav(b, at+302, "UNLOCK", folder+name, 204)
		}
	}
}

// windowsWebDAV: the Explorer looks for desktop.ini in every folder and for icons,
// and Office for the file that says who else has a document open.
func windowsWebDAV(l *log) {
	for n := range 10 {
		b := &browser{addr: address(n), agent: "Microsoft-WebDAV-MiniRedir/10.0.22631"}
		for range l.between(2, 5) {
			at := l.in(morning, 8*hour)
			l.dav(b, at, "OPTIONS", folder, 200)
			for i, sub := range []string{"", "2024/", "2025/", "2026/", "Drafts/", "Photos/", "Old/", "Templates/"} {
				l.dav(b, at, "PROPFIND", folder+sub, 207)
				l.dav(b, at, "PROPFIND", folder+sub+"desktop.ini", 404)
				if i < 2 {
					l.dav(b, at, "PROPFIND", folder+sub+"Thumbs.db", 404)
				}
				at += int64(l.between(1, 4))
			}
			for range l.between(2, 5) {
				name := pick(l, documents)
				l.dav(b, at, "PROPFIND", folder+"~$"+name, 404)
				l.dav(b, at, "GET", folder+name, 200)
				l.dav(b, at, "LOCK", folder+name, 200)
				l.dav(b, at+90, "PUT", folder+name, 204)
				l.dav(b, at+91, "UNLOCK", folder+name, 204)
				at += int64(l.between(20, 200))
			}
		}
	}
}

// feedFarm reads the feeds of all blogs of a host, every hour.
func feedFarm(l *log) {
	b := &browser{addr: netip.MustParseAddr("198.51.100.24"), agent: "Harvest/2.1 (feed fetcher; +https://reader.example/fetcher)"}
	for round := range int64(12) {
		for n := range 400 {
			status := pick(l, []int{200, 304, 304, 304})
			if n%20 < 3 {
				status = 404
			}
			l.get(b, l.in(morning+round*hour, 2*minute), fmt.Sprintf("/blogs/%s-%d/feed/", []string{"pier", "boats", "tide"}[n%3], n), status, "")
		}
	}
}

// prefetch: browsers fetch what a page's links lead to when the mouse is over them,
// or when a script says so. Each page has eight links to what is gone.
func prefetch(l *log) {
	for n := range 100 {
		b := &browser{addr: address(n), agent: pick(l, append(agents, phoneAgents...))}
		at, referer := l.in(morning, 8*hour), "https://www.search.example/"
		for range l.between(1, 9) {
			post := l.rng.IntN(posts)
			from := l.view(b, at, article(post), referer)
			for i := range 8 {
				l.get(b, l.in(at+1, 3), fmt.Sprintf("/archive/%d/story-%d/", 2001+post%12, post*8+i), 404, from)
			}
			referer = from
			at += int64(l.between(8, 90))
		}
	}
}

// crawlerMigration is a small search engine's crawler, which no list of crawlers
// knows. It still has the addresses of the site before this one.
func crawlerMigration(l *log) {
	b := &browser{addr: netip.MustParseAddr("198.51.100.25"), agent: "Mozilla/5.0 (compatible; TideBot/1.4; +https://tide.example/bot)"}
	l.get(b, morning, "/robots.txt", 200, "")
	for at := int64(morning); at < morning+3*hour; at += minute {
		for range 24 {
			l.get(b, l.in(at, 59), fmt.Sprintf("/%s/page-%d.php", pick(l, []string{"news", "shop", "boats"}), l.rng.IntN(6000)), pick(l, []int{404, 404, 410}), "")
		}
		for range l.between(2, 10) {
			l.get(b, l.in(at, 59), article(l.rng.IntN(posts)), 200, "")
		}
	}
}
