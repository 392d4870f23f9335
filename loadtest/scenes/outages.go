package scenes

import (
	"fmt"
	"net/netip"
	"slices"
)

// An outage lasts three minutes, and has three quarters of an hour of healthy traffic before
// it and after it, where its scene says nothing else.
const (
	failsAt   = morning + 3*hour
	opensAt   = failsAt - 45*minute
	closesAt  = failsAt + 48*minute
	failsFor  = 3 * minute
	recovered = failsAt + failsFor
)

// outage is when a site fails: it is down and up again, each for as long, so many times.
// Its visitors are there from opens until closes.
type outage struct {
	opens, closes int64
	down, up      int64
	times         int64
}

// once is what most scenes are.
var once = outage{opensAt, closesAt, failsFor, 0, 1}

// crashing is a site that crashes each time that it has started.
var crashing = outage{opensAt, closesAt + 9*4*minute, 2 * minute, 2 * minute, 9}

// fails reports whether the site is down.
func (o *outage) fails(at int64) bool {
	since, each := at-failsAt, o.down+o.up
	return since >= 0 && since < each*o.times && since%each < o.down
}

// statusAt returns the status of what works, but while the site fails.
func (o *outage) statusAt(at int64, failed int) int {
	if o.fails(at) {
		return failed
	}
	return 200
}

// outages are scenes of sites that fail, and the same with attackers in the same log.
var outages = []Scene{
	{Name: "key-rotated", Says: "a signing key is rotated: the API and /oauth/token answer 401; 40 homes and 3 shared addresses", Kind: Outage, play: keyRotated},
	{Name: "key-rotated-pages", Says: "the same; the host also has pages with 25 readers at a time, which stay", Kind: Outage, play: keyRotatedPages},
	{Name: "key-rotated-small", Says: "the same API with 12 homes", Kind: Outage, play: keyRotatedSmall},
	{Name: "deploy", Says: "a deploy: each *.php is 404; 300 homes in an hour and a half", Kind: Outage, play: deploy},
	{Name: "deploy-night", Says: "the same at night: 24 homes in an hour and a half", Kind: Outage, play: deployNight},
	{Name: "key-rotated-carrier", Says: "key-rotated, and all 43 addresses are of two /24s: a carrier's, or a VPN's", Kind: Outage, play: keyRotatedCarrier},
	{Name: "key-rotated-fresh", Says: "key-rotated, on a node that started 15 minutes before", Kind: Outage, play: fresh(keyRotated)},
	{Name: "deploy-fresh", Says: "deploy likewise", Kind: Outage, play: fresh(deploy)},
	{Name: "crash-loop", Says: "key-rotated, but the API is down for two minutes and up for two, nine times", Kind: Outage, outage: &crashing, play: keyRotated},
	{Name: "crash-loop-pages", Says: "deploy likewise, with as many homes a minute; who leaves looks in again some minutes later", Kind: Outage, outage: &crashing, play: crashingPages},
	{Name: "ingress", Says: "an ingress has lost its route: its default backend answers 404; 31 offices", Kind: Outage, play: ingress},
	{Name: "single-sign-on", Says: "single sign-on is down: 60 people behind one address try 6 times each, 12 more at home", Kind: Outage, play: singleSignOn},
	{Name: "retries", Says: "500 for each request, and clients that try again each second; 100 homes, 5 addresses of 20 clients", Kind: Outage, play: retries},
	{Name: "key-rotated, attacked", Says: "key-rotated with a scanner, a password stuffer and 60 bots", Kind: Outage, play: attacked(keyRotated)},
	{Name: "deploy, attacked", Says: "deploy with the same", Kind: Outage, play: attacked(deploy)},
	{Name: "ingress, attacked", Says: "ingress with the same", Kind: Outage, play: attacked(ingress)},
	{Name: "single-sign-on, attacked", Says: "single-sign-on with the same", Kind: Outage, play: attacked(singleSignOn)},
	{Name: "retries, attacked", Says: "retries with the same", Kind: Outage, play: attacked(retries)},
	{Name: "deploy, raided", Says: "deploy with 40 bots that know of it: they come while the site fails, and are gone after it", Kind: Outage, play: raided},
}

// client is one of several behind an address.
type client struct {
	browser
	at int64 // its next request
}

// clientsOf returns so many clients at each of these addresses, each of which begins
// within a minute of the opening.
func (l *log) clientsOf(agents []string, addresses []netip.Addr, at func(n int) int) (all []*client) {
	for n, addr := range addresses {
		for range at(n) {
			all = append(all, &client{browser{addr: addr, agent: pick(l, agents)}, l.in(l.opens, minute)})
		}
	}
	return all
}

// homesAnd returns the addresses of so many homes, and of shared ones after them.
func homesAnd(homes, shared int) (all []netip.Addr) {
	for n := range homes {
		all = append(all, address(n))
	}
	for n := range shared {
		all = append(all, netip.AddrFrom4([4]byte{198, 51, byte(101 + n), 9}))
	}
	return all
}

var appAgents = []string{"okhttp/4.12.0", "Harbour/7.1 (iPhone15,3; iOS 18.4) CFNetwork/1568 Darwin/24.0", "Harbour/7.1 (Android 15; Pixel 8)"}

// keyRotated: an app that shows what is new asks every 13 seconds. On a 401 it asks
// for a new token, which is refused as well, and waits for its next turn.
func keyRotated(l *log) {
	l.rotated(homesAnd(40, 3), 40)
}

// keyRotatedCarrier has them all behind the addresses of a carrier.
func keyRotatedCarrier(l *log) {
	addresses := homesAnd(40, 3)
	for n := range addresses {
		addresses[n] = netip.AddrFrom4([4]byte{198, 51, byte(100 + n%2), byte(1 + n)})
	}
	l.rotated(addresses, 40)
}

// keyRotatedSmall is the API of a small shop.
func keyRotatedSmall(l *log) { l.rotated(homesAnd(12, 0), 12) }

// keyRotatedPages has a web site beside the API, under the same host.
func keyRotatedPages(l *log) {
	keyRotated(l)
	for n := range 140 {
		b := &browser{addr: address(500 + n), agent: pick(l, append(agents, phoneAgents...))}
		l.read(b, l.in(l.opens, l.closes-l.opens-8*minute), l.between(4, 12))
	}
}

// rotated has one client in each of the first homes, and several at other addresses.
func (l *log) rotated(addresses []netip.Addr, homes int) {
	feeds := []string{"messages", "orders", "notifications", "positions"}
	for _, c := range l.clientsOf(appAgents, addresses, func(n int) int { return 1 + max(0, n-homes+1)*6 }) {
		refresh := l.in(c.at, hour)
		for ; c.at < l.closes; c.at += int64(l.between(12, 14)) {
			status := l.statusAt(c.at, 401)
			if c.at > refresh && status == 200 { // a token lasts an hour
				status, refresh = 401, c.at+hour
			}
			l.get(&c.browser, c.at, "/api/v1/"+pick(l, feeds), status, "")
			if status == 401 {
				l.post(&c.browser, c.at+1, "/oauth/token", l.statusAt(c.at+1, 401), "")
			}
		}
	}
}

// deploy: readers of a site made of scripts. Who gets an error reloads, goes back and
// takes another link, or leaves. What the browser has it does not ask for again.
func deploy(l *log) { l.deployed(300) }

func crashingPages(l *log) { l.deployed(420) }

func deployNight(l *log) { l.deployed(24) }

func (l *log) deployed(homes int) {
	for n := range homes {
		r := &reader{browser: browser{addr: address(n), agent: pick(l, append(agents, phoneAgents...))}, polls: l.one(3), hides: l.one(10)}
		at := l.in(l.opens-20*minute, l.closes-l.opens)
		r.from(pick(l, []string{"", "https://www.search.example/"}))
		for leaves := at + int64(l.between(8, 40))*minute; at < min(leaves, l.closes); {
			if !l.fails(at) {
				at = r.reads(l, at)
				continue
			}
			if l.one(8) {
				if l.times == 1 {
					break
				}
				at += int64(l.between(3, 12)) * minute
				continue
			}
			at = r.fails(l, at)
		}
	}
}

// reader is one who reads a site made of scripts.
type reader struct {
	browser
	polls   bool // has a page open that asks what is new
	hides   bool // sends no Referer
	referer string
}

func (r *reader) from(page string) {
	if r.referer = page; r.hides {
		r.referer = ""
	}
}

// target returns the next page, and the address of it with a query.
func (r *reader) target(l *log) (page, target string) {
	page = "/" + pick(l, []string{"index", "news", "article", "boats", "prices", "calendar", "map", "contact", "gallery", "tide", "weather", "search", "team", "club", "shop", "cart"}) + ".php"
	if l.one(2) {
		return page, page
	}
	return page, fmt.Sprintf("%s?id=%d", page, l.rng.IntN(400))
}

// ask asks for what a page shows that changes.
func (r *reader) ask(l *log, at int64) {
	for _, part := range []string{"tide", "cart", "ferries", "offers"} {
		l.get(&r.browser, at, "/ajax/"+part+".php", l.statusAt(at, 404), r.referer)
	}
}

// reads reads one page, and returns when it is the next one's turn.
func (r *reader) reads(l *log, at int64) int64 {
	_, target := r.target(l)
	r.from(l.view(&r.browser, at, target, r.referer))
	next := at + int64(l.between(8, 100))
	for at += 30; r.polls && at < next; at += 30 {
		r.ask(l, at)
	}
	return next
}

// fails is one page that is not there.
func (r *reader) fails(l *log, at int64) int64 {
	page, target := r.target(l)
	l.get(&r.browser, at, target, 404, r.referer)
	if !r.cached {
		r.cached = true
		l.get(&r.browser, at, "/favicon.ico", 200, origin+page)
	}
	if l.one(2) { // a reload
		l.get(&r.browser, at+3, target, l.statusAt(at+3, 404), r.referer)
	}
	if r.polls { // the page before has come back from the browser's memory
		r.ask(l, at+4)
	}
	return at + int64(l.between(5, 20))
}

// ingress: offices work in a web application whose addresses have the numbers of
// orders and customers in them.
func ingress(l *log) {
	kinds := []string{"orders", "customers", "invoices", "tickets"}
	for _, c := range l.clientsOf(agents, homesAnd(0, 31), func(n int) int { return 3 + n%6 }) {
		for c.at < l.closes {
			page := fmt.Sprintf("/%s/%d", pick(l, kinds), l.rng.IntN(9000))
			status := l.statusAt(c.at, 404)
			l.get(&c.browser, c.at, page, status, origin+"/")
			for _, part := range []string{"/history", "/notes", "/files"} {
				l.get(&c.browser, c.at+1, page+part, l.statusAt(c.at+1, 404), origin+page)
			}
			if status == 200 && l.one(3) {
				l.post(&c.browser, c.at+9, page, 302, origin+page)
			}
			if status == 404 {
				c.at += int64(l.between(10, 25)) // tries another
			} else {
				c.at += int64(l.between(20, 90))
			}
		}
	}
}

// singleSignOn: a morning at an office's portal. Who is in stays in; who comes while
// single sign-on is down is refused.
func singleSignOn(l *log) {
	addresses := append(homesAnd(12, 0), netip.MustParseAddr("198.51.100.40"))
	for n, c := range l.clientsOf(agents, addresses, func(n int) int { return 1 + n/12*59 }) {
		comes := l.in(failsAt-minute, 3*minute) // most come when work begins
		if n%6 == 0 {
			comes = l.in(l.opens, 40*minute)
		}
		c.at = comes
		l.get(&c.browser, c.at, "/", 200, "")
		l.get(&c.browser, c.at+1, "/login", 200, origin+"/")
		for tries := 0; ; tries++ {
			c.at += int64(l.between(6, 18))
			if !l.fails(c.at) {
				break
			}
			if tries == 6 {
				c.at = recovered + int64(l.between(30, 900))
				break
			}
			l.post(&c.browser, c.at, "/login", 401, origin+"/login")
		}
		l.post(&c.browser, c.at, "/login", 302, origin+"/login")
		for ; c.at < l.closes; c.at += int64(l.between(20, 120)) {
			l.get(&c.browser, c.at, fmt.Sprintf("/tasks/%d", l.rng.IntN(800)), 200, origin+"/")
		}
	}
}

// retries: a program that keeps files the same on several computers asks every ten
// seconds, and each second while the server fails.
func retries(l *log) {
	for _, c := range l.clientsOf([]string{"harbour-sync/3.2 (linux)", "harbour-sync/3.2 (windows)"}, homesAnd(100, 5), func(n int) int { return 1 + n/100*19 }) {
		for c.at < l.closes {
			status := l.statusAt(c.at, 500)
			l.get(&c.browser, c.at, "/sync/changes", status, "")
			if status == 500 {
				c.at++
				continue
			}
			if l.one(6) {
				l.post(&c.browser, c.at+1, "/sync/upload", l.statusAt(c.at+1, 500), "")
			}
			c.at += int64(l.between(9, 11))
		}
	}
}

// fresh has a node that started a quarter of an hour before the outage, beside a site that goes
// on all day.
func fresh(play func(*log)) func(*log) {
	return func(l *log) {
		play(l)
		l.lines = slices.DeleteFunc(l.lines, func(of line) bool { return of.at < failsAt-15*minute })
	}
}

// attacked adds attackers who neither know of the outage nor wait for its end: a
// scanner, one who tries passwords, and 60 bots that come one after the other.
func attacked(play func(*log)) func(*log) {
	return func(l *log) {
		play(l)
		scanner := l.attacker(scattered(1), "Mozilla/5.0 zgrab/0.x")
		for n := range 900 {
			l.get(scanner, failsAt-minute+int64(n), scanFile(n), 404, "")
		}
		stuffer := l.attacker(scattered(2), "python-requests/2.32.3")
		for n := range 600 {
			l.post(stuffer, failsAt-minute+int64(2*n), "/login", 401, "")
		}
		for n := range 60 {
			bot := l.attacker(scattered(10+n), pick(l, agents))
			at, first := l.in(failsAt-10*minute, 25*minute), l.rng.IntN(400)
			for i := range l.between(30, 60) {
				l.get(bot, at, scanFile(first+i), 404, "")
				at += int64(l.between(2, 10))
			}
		}
	}
}

// raided has attackers whom a guard for failing sites cannot tell from visitors but by
// what they did before, which is nothing.
func raided(l *log) {
	deploy(l)
	for n := range 40 {
		bot := l.attacker(scattered(100+n), pick(l, agents))
		for i := range 30 {
			l.get(bot, l.in(failsAt, failsFor-1), scanFile(n*7+i), 404, "")
		}
	}
}
