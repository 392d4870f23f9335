package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/fulltest"
	"edgeguard/packaging"
)

// presetSays replays requests, each "METHOD TARGET STATUS" of one client or with another's
// address before them, within five minutes, and returns the result.
func presetSays(t *testing.T, preset, referer string, requests []string) string {
	t.Helper()
	return configSays(t, "own_hosts: [example.org]\npresets: ["+preset+"]\n", referer, requests)
}

// configSays is presetSays for the rules of a config.
func configSays(t *testing.T, config, referer string, requests []string) string {
	t.Helper()
	return pacedSays(t, config, referer, 280, requests)
}

// pacedSays is configSays of requests that come within a number of seconds.
func pacedSays(t *testing.T, config, referer string, seconds int, requests []string) string {
	t.Helper()
	dir := t.TempDir()
	conf, log := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "access.log")
	var lines strings.Builder
	for i, r := range requests {
		words := strings.Fields(r)
		addr := "203.0.113.9"
		if len(words) == 4 {
			addr, words = words[0], words[1:]
		}
		at := time.Date(2026, 3, 2, 8, 0, i*seconds/len(requests), 0, time.UTC).Format("02/Jan/2006:15:04:05 -0700")
		fmt.Fprintf(&lines, `%s - - [%s] "%s %s HTTP/1.1" %s 13 "%s" "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/128.0"`+"\n", addr, at, words[0], words[1], words[2], referer)
	}
	for file, text := range map[string]string{conf: config, log: lines.String()} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := replaySaid(t, "replay", "--config", conf, "--format", "combined", "--json", log)
	return out
}

// many returns n requests, with their numbers in the place of %d.
func many(n int, request string) (all []string) {
	for i := range n {
		all = append(all, strings.ReplaceAll(request, "%d", fmt.Sprint(i)))
	}
	return all
}

func blockedBy(out, rule string) bool {
	return strings.Contains(out, `"type":"block"`) && strings.Contains(out, `"rule":"`+rule+`"`)
}

// TestPresetsWalkedAround: what serves as a login, and what servers read as a hostile query,
// counts however it is written.
func TestPresetsWalkedAround(t *testing.T) {
	fulltest.Only(t)
	for _, path := range []string{
		"/login", "/users/sign_in.json", "/users/sign_in/", "/session/", "/sessions/", "/signin/", "/signin;jsessionid=1", "/SIGNIN", "/Login", "/api/Login",
		"/oauth/token/", "/oauth/token.json", "/auth/token/", "/auth/", "/api/v1/user/authenticate/", "/x/..;/login", "/Account/LogOn.aspx",
	} {
		for _, status := range []int{401, 403, 422} {
			if out := presetSays(t, "login@1", "-", many(22, fmt.Sprintf("POST %s %d", path, status))); !blockedBy(out, "login/failed") {
				t.Errorf("22 logins at %s answered %d: %s", path, status, out)
			}
		}
		for _, status := range []int{200, 302} {
			if strings.Contains(path, "/token") {
				continue // apps ask for tokens every hour
			}
			if out := presetSays(t, "login@1", "-", many(81, fmt.Sprintf("POST %s %d", path, status))); !blockedBy(out, "login/attempts") {
				t.Errorf("81 logins at %s answered %d: %s", path, status, out)
			}
		}
		rule := "login/attempts" // after 80, and what is refused from then on tells nothing
		if strings.Contains(path, "/token") {
			rule = "login/failed"
		}
		if out := presetSays(t, "login@1", "-", many(85, fmt.Sprintf("POST %s 400", path))); !blockedBy(out, rule) {
			t.Errorf("85 logins at %s answered 400: %s", path, out)
		}
	}
	for _, target := range []string{"/administrator/index.php", "/administrator/index.php?x", "/Administrator/index.php?option=com_content", "//administrator/"} {
		for _, config := range []string{"presets: [joomla@1]\n", packaging.Config} {
			if out := configSays(t, config, "-", many(116, "POST "+target+" 200")); !blockedBy(out, "joomla/login") && (config != packaging.Config || !strings.HasSuffix(target, "/")) {
				t.Errorf("116 logins at %s: %s", target, out)
			}
		}
	}
	for _, target := range []string{
		"/index.php?file=../../../../etc/passwd%d", "/i%d.html?s=1&file=../../../../etc/passwd", "/i%d.html?s=1;file=../../../../etc/passwd", "/i%d.html?file=/%65tc/passwd",
		"/i%d.html?x=$%7b$%7blower:j%7dndi:ldap://e%7d", "/?a%d=${${::-j}ndi:x}", "/?f=..%5c..%5C..%5cwindows%d", "/?id=%d+UNION+ALL+SELECT+1", "/?id=%d%20and%201=1", "/?-d+auto_prepend_file%3dphp://input%d",
	} {
		if out := presetSays(t, "web@1", "-", many(3, "GET "+target+" 200")); !blockedBy(out, "web/queries") {
			t.Errorf("3 of %s: %s", target, out)
		}
	}
	for _, target := range []string{"/?s=wp-config.php+%d", "/?page=%d&q=how+to+read+/etc/passwd", "/a?b=config&c=%25%d", "/?next=https://example.org/%d", "/?title=black+and+%d+white", "/?note=select+a+union+or+%d"} {
		if out := presetSays(t, "web@1", "-", many(50, "GET "+target+" 200")); strings.Contains(out, `"type":"block"`) {
			t.Errorf("50 of %s: %s", target, out)
		}
	}
}

// TestPresetsSayMisdirected: other protocols and requests for a proxy are blocked, and neither
// connections on which nothing came, nor a page of another site in a query, nor a device that
// speaks TLS once a minute.
func TestPresetsSayMisdirected(t *testing.T) {
	for request, rule := range map[string]string{
		"CONNECT example.com:443 400":       "web/misdirected",
		"CONNECT example.com:443 200":       "",
		"GET /?u=http://example.com/%d 404": "",
		"GET http://example.com/ 404":       "web/misdirected",
		"GET http://example.org/ 404":       "", // the site itself
		"OPTIONS * 405":                     "",
	} {
		if out := presetSays(t, "web@1", "-", many(12, request)); rule == "" && strings.Contains(out, `"type":"block"`) || rule != "" && !blockedBy(out, rule) {
			t.Errorf("12 of %s: want a block by %q: %s", request, rule, out)
		}
	}
	for request, rule := range map[string]string{`SSH-2.0-PUTTY`: "web/misdirected", `\x00\x00\x00E\xFFSMBr`: "web/misdirected", `\x16\x03\x01\x00`: "", ``: "", `-`: ""} {
		var log strings.Builder
		for i := range 40 {
			fmt.Fprintf(&log, "203.0.113.9 - - [02/Apr/2019:06:%02d:07 +0000] \"%s\" 400 182 \"-\" \"-\"\n", i, request)
		}
		file := filepath.Join(t.TempDir(), "access.log")
		if err := os.WriteFile(file, []byte(log.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := replaySaid(t, "replay", "--json", "--preset", "web@1", "--format", "combined", file)
		if rule == "" && strings.Contains(out, `"type":"block"`) || rule != "" && !blockedBy(out, rule) {
			t.Errorf("40 of %q: want a block by %q: %s", request, rule, out)
		}
	}
}

// TestPresetsSpareReaders: hostile images and scripts of a page, elsewhere or of one's own
// forum, block none of its readers; who sends many more is blocked whatever he writes.
func TestPresetsSpareReaders(t *testing.T) {
	for _, referer := range []string{"https://example.org/thread/1", "https://evil.example/"} {
		for _, c := range []struct {
			n      int
			target string
			rule   string // that blocks; empty: none may
		}{
			{3, "/a%d.gif?x=../../../etc/passwd 404", ""},
			{8, "/static/a.png?wp-config=wp-config.php%d 200", ""},
			{9, "/static/a.png?wp-config=wp-config.php%d 200", "web/queries"},
			{6, "/a%d.php 404", ""},
			{10, "/a%d.php 404", ""},
			{11, "/a%d.php 404", "web/scripts"},
			{10, "/%d/.env 403", ""},
			{11, "/%d/.env 403", "web/hidden"},
			{140, "/gone/%d/ 404", ""},
			{221, "/gone/%d/ 404", "web/probing"},
		} {
			out := presetSays(t, "web@1", referer, many(c.n, "GET "+c.target))
			if c.rule == "" && strings.Contains(out, `"type":"block"`) || c.rule != "" && !blockedBy(out, c.rule) {
				t.Errorf("%d of %s in a page of %s: want a block by %q: %s", c.n, c.target, referer, c.rule, out)
			}
		}
	}
	for _, method := range []string{"PROPFIND", "OPTIONS", "LOCK"} {
		if out := presetSays(t, "web@1", "-", many(60, method+" /dav/%d/.DS_Store 404")); strings.Contains(out, `"type":"block"`) {
			t.Errorf("60 of %s: %s", method, out)
		}
	}
	requests := append(many(4, "GET /a%d.php 404"), many(4, "GET /a%d.php 404")...)
	if out := presetSays(t, "web@1", "-", requests); strings.Contains(out, `"type":"block"`) {
		t.Errorf("4 different scripts, twice: %s", out)
	}
}

// TestPresetsSparePasswordManagers: what browsers and password managers ask every site for, by 200 people
// behind one address in five minutes, is no list of a scanner's, whatever the site answers.
func TestPresetsSparePasswordManagers(t *testing.T) {
	asked := []string{
		"change-password", "resource-that-should-not-exist-whose-status-code-should-not-be-200", "passkey-endpoints", "webauthn", "assetlinks.json",
		"apple-app-site-association", "openid-configuration", "security.txt", "gpc.json", "traffic-advice",
	}
	const all = "presets: [web@1, login@1, wordpress@1, joomla@1, api@1, xmlrpc@1]\n"
	for _, status := range []int{403, 404, 405} {
		var requests []string
		for i := range 200 * len(asked) {
			requests = append(requests, fmt.Sprintf("GET /.well-known/%s %d", asked[i%len(asked)], status))
		}
		if out := configSays(t, all, "-", requests); strings.Contains(out, `"type":"block"`) || strings.Contains(out, `"type":"deny"`) {
			t.Errorf("answered %d: %s", status, out)
		}
		if out := configSays(t, all, "-", many(56, fmt.Sprintf("GET /.well-known/%%d %d", status))); !blockedBy(out, "web/probing") {
			t.Errorf("56 that nobody asks for, answered %d: %s", status, out)
		}
	}
}

// TestPackagedSparesAdministrators: what packages install takes Joomla's login for one, and
// not the pages of another application below /administrator/.
func TestPackagedSparesAdministrators(t *testing.T) {
	image, err := os.ReadFile("../../packaging/container.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []string{packaging.Config, string(image)} {
		for request, rule := range map[string]string{
			"POST /administrator/index.php 200": "joomla/login",
			"POST /administrator/index.php 403": "joomla/refused",
		} {
			if out := configSays(t, config, "-", many(116, request)); !blockedBy(out, rule) {
				t.Errorf("116 of %s: want a block by %q: %s", request, rule, out)
			}
		}
		for _, request := range []string{
			"POST /administrator/ 200", "POST /administrator/orders/save 200", "POST /administrator/orders/%d 422",
			"POST /administrator/index.php/orders/save 200", "POST /administrator/index.php?page=orders 422", "POST /administrator/index.php 200",
			"POST /shop/administrator/index.php/save/%d 200", "POST /administrator/users/login.php?next=x%d 200",
		} {
			if out := configSays(t, config, "https://example.org/administrator/", many(75, request)); strings.Contains(out, `"type":"block"`) {
				t.Errorf("75 of %s: %s", request, out)
			}
		}
	}
}

// TestPresetsNetworks: attackers who share a /24, or a home's /56, are denied what they
// attack, or are told of.
func TestPresetsNetworks(t *testing.T) {
	for rule, requests := range map[string][]string{
		"login/failed-net":    many(220, "198.51.100.%d POST /login 401"),
		"wordpress/login-net": many(220, "198.51.100.%d POST /wp-login.php 200"),
		"web/scripts-net":     many(40, "198.51.100.%d GET /old-%d.php 404"),
	} {
		preset, _, _ := strings.Cut(rule, "/")
		for _, network := range []string{"198.51.100.%d", "2001:db8:5:%x::1"} {
			var all []string
			for i, r := range requests {
				_, rest, _ := strings.Cut(r, " ")
				all = append(all, fmt.Sprintf(network, i)+" "+rest)
			}
			if out := presetSays(t, preset+"@1", "-", all); strings.Contains(out, `"type":"block"`) || !strings.Contains(out, `"rule":"`+rule+`"`) {
				t.Errorf("%d of %s: want %s, and no block: %s", len(all), all[0], rule, out)
			}
		}
	}
}

// TestPresetsSpareNeighbours: one alone in a /24 brings no denial on his neighbours, however
// fast or slowly he goes. A home's /56 is he himself.
func TestPresetsSpareNeighbours(t *testing.T) {
	for _, c := range []struct {
		preset, request string
		refused         int // how many are answered before the rule that keeps him from more refuses
		seconds         int
	}{
		{"login", "203.0.113.9 POST /login 401", 22, 300},
		{"login", "203.0.113.9 POST /login 401", 205, 3500},
		{"login", "2001:db8:5:%x::1 POST /login 401", 2000, 3500},
		{"wordpress", "203.0.113.9 POST /wp-login.php 200", 71, 300},
		{"wordpress", "203.0.113.9 POST /wp-login.php 200", 121, 7000},
		{"wordpress", "2001:db8:5:%x::1 POST /wp-login.php 200", 2000, 3500},
		{"web", "203.0.113.9 GET /%d.php 404", 2000, 22000},
	} {
		var own []string
		for i := range 300 {
			request := strings.Replace(c.request, "%d", fmt.Sprint(i), 1)
			if strings.Contains(request, "%x") {
				request = fmt.Sprintf(request, i%4)
			}
			if i >= c.refused { // the proxy answers itself
				request = request[:len(request)-3] + "403"
			}
			own = append(own, request)
		}
		out := pacedSays(t, "presets: ["+c.preset+"@1]\n", "-", c.seconds, own)
		for line := range strings.Lines(out) {
			if !strings.Contains(line, `"type":"shadow"`) && (strings.Contains(line, `.0/24"`) || strings.Contains(line, `::/48"`)) {
				t.Errorf("%s, within %d s: %s", c.request, c.seconds, line)
			}
		}
	}
}

// TestPresetsDenialsBlockNobody: who goes on while the login is denied to his network, and is
// answered 429 by edgeguard for it, is not blocked.
func TestPresetsDenialsBlockNobody(t *testing.T) {
	for preset, request := range map[string]string{
		"login":     "203.0.113.9 POST /login 429",
		"wordpress": "203.0.113.9 POST /wp-login.php 429",
		"joomla":    "203.0.113.9 POST /administrator/index.php 429",
	} {
		if out := presetSays(t, preset+"@1", "-", many(40, request)); strings.Contains(out, `"type":"block"`) {
			t.Errorf("40 of %s: %s", request, out)
		}
	}
}
