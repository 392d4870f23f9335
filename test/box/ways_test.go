package box

import (
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/snippets"
)

// A way is one that `edgeguard snippets` prints, with the commands that install,
// check and remove it.
type way struct {
	name   string // of the snippet
	counts string // what counts, where the snippet only refuses: another snippet, or a log
	server string // the unit that the clients ask
	site   string // commands that make the site, before
	rotate string // logrotate's config of the log
	drops  bool   // the packet filter refuses
	teach  bool   // the server has its list from edgeguard by a connection
	asks   bool   // the server asks edgeguard, and lets pass what it has no answer for in milliseconds
	put    string // commands for what part "install" says in words
	take   string // commands for what part "remove" says in words
}

const (
	nginxLog   = "{file: /var/log/nginx/access.log, format: combined}"
	haproxyLog = "{file: /var/log/haproxy.log, format: haproxy}" // Debian's, by rsyslog

	haproxySite = `printf '%s\n' '' 'frontend site' '    bind :80' '    option httplog' '    default_backend site' 'backend site' '    server site 127.0.0.1:8080' >>/etc/haproxy/haproxy.cfg`
)

var ways = []way{
	{name: "nginx", server: "nginx", asks: true, take: "ln -s ../sites-available/default /etc/nginx/sites-enabled/"},
	{name: "nginx-geo", counts: nginxLog, server: "nginx", rotate: "/etc/logrotate.d/nginx"},
	{name: "nginx-names", counts: nginxLog, server: "nginx", rotate: "/etc/logrotate.d/nginx"},
	{name: "nginx-deny", counts: nginxLog, server: "nginx", rotate: "/etc/logrotate.d/nginx"},
	{name: "caddy", server: "caddy", asks: true, take: `printf ':80\nreverse_proxy 127.0.0.1:8080\n' >/etc/caddy/Caddyfile`},
	{name: "caddy-names", counts: "{file: /var/log/caddy/edgeguard.log, format: json}", server: "caddy"},
	{name: "ipset", counts: "apache", server: "apache2", rotate: "/etc/logrotate.d/apache2", drops: true},
	{name: "nft", counts: nginxLog, server: "nginx", rotate: "/etc/logrotate.d/nginx", drops: true},
	{name: "haproxy", server: "haproxy",
		site: `printf '%s\n' '' 'frontend other' '    bind 127.0.0.1:8081' '    http-request return status 204' >>/etc/haproxy/haproxy.cfg
			cp /etc/haproxy/haproxy.cfg /root/before.cfg`,
		put: `edgeguard snippets haproxy --file proxy >>/etc/haproxy/haproxy.cfg
			haproxy -c -f /etc/haproxy/haproxy.cfg
			systemctl reload haproxy`,
		take: "cp /root/before.cfg /etc/haproxy/haproxy.cfg; printf '%s\\n' 'frontend site' '    bind :80' '    default_backend site' 'backend site' '    server site 127.0.0.1:8080' >>/etc/haproxy/haproxy.cfg"},
	{name: "haproxy-spoe", server: "haproxy", asks: true,
		site: `printf '%s\n' '' 'frontend other' '    bind 127.0.0.1:8081' '    http-request return status 204' >>/etc/haproxy/haproxy.cfg
			cp /etc/haproxy/haproxy.cfg /root/before.cfg`,
		put: `edgeguard snippets haproxy-spoe --file proxy >>/etc/haproxy/haproxy.cfg
			haproxy -c -f /etc/haproxy/haproxy.cfg
			systemctl reload haproxy`,
		take: "cp /root/before.cfg /etc/haproxy/haproxy.cfg; printf '%s\\n' 'frontend site' '    bind :80' '    default_backend servers' 'backend servers' '    server site 127.0.0.1:8080' >>/etc/haproxy/haproxy.cfg"},
	{name: "haproxy-peers", server: "haproxy", teach: true, site: haproxySite},
	{name: "haproxy-map", counts: haproxyLog, server: "haproxy", rotate: "/etc/logrotate.d/haproxy",
		site: haproxySite,
		put: `edgeguard snippets haproxy-map --file proxy | grep http-request >/root/line
			sed -i '/^    bind :80/r /root/line' /etc/haproxy/haproxy.cfg
			haproxy -c -f /etc/haproxy/haproxy.cfg
			systemctl reload haproxy`,
		take: "sed -i /http-request/d /etc/haproxy/haproxy.cfg"},
}

// untested are the snippets that no box follows.
var untested = map[string]string{
	"apache":           "ipset's box follows it",
	"nftables":         "a scenario of its own follows it",
	"traefik":          "Debian has no package of it",
	"envoy":            "Debian has no package of it",
	"envoy-grpc":       "Debian has no package of Envoy",
	"envoy-rls":        "Debian has no package of Envoy",
	"crowdsec-bouncer": "test/bouncers runs Debian's bouncers, unpacked: their packages cannot be installed without a network",
	"packet":           "the test of package node listens to an interface of a network of its own",
	"plain":            "for programs of your own: test/recipes runs it",
}

// TestEverySnippet fails when a snippet has neither a box nor a reason.
func TestEverySnippet(t *testing.T) {
	for _, name := range snippets.Names() {
		if untested[name] == "" && !slices.ContainsFunc(ways, func(w way) bool { return w.name == name }) {
			t.Errorf("no box follows the snippet %s", name)
		}
	}
}

// run installs a way, proves it and removes it.
func (w way) run(b *box) {
	begun := time.Now()
	b.site(w)
	switch {
	case strings.HasPrefix(w.counts, "{"):
		b.run(`sed -i 's/emit: request}/emit: nothing}/' /etc/edgeguard/edgeguard.yaml
			echo 'sensors: {accesslog: [` + w.counts + `]}' >>/etc/edgeguard/edgeguard.yaml`)
	case w.counts != "":
		b.printed(w.counts, "install")
	}
	before := b.run("cat /etc/edgeguard/edgeguard.yaml")
	b.printed(w.name, "install")
	b.run(w.put)
	b.printed(w.name, "check")
	p := proof{server: w.server, rotate: w.rotate, drops: w.drops, forgets: w.teach, asks: w.asks}
	b.offends(offender, "/long", p)
	b.t.Logf("from a system with the package at hand to the first refused request: %d commands, %.0f s", b.done, time.Since(begun).Seconds())
	if w.teach {
		b.taught(p)
	}
	b.proves(p)
	b.again(p)
	b.write("/etc/edgeguard/edgeguard.yaml", before+"\n") // what the commands say in words
	b.run(w.take)
	b.printed(w.name, "remove")
	b.until("nobody is refused", func() bool { return b.get(offender, "/").passed() })
	b.passes(neighbour)
}

// taught changes blocks and allowances, and reloads and restarts both sides by themselves.
func (b *box) taught(p proof) {
	b.t.Helper()
	refused := func(from string) func() bool { return func() bool { return b.refuses(from, "/", p) } }
	passes := func(from string) func() bool { return func() bool { return b.get(from, "/").passed() } }
	b.run("edgeguard blocks remove " + offender)
	b.until("an unblocked address passes", passes(offender))
	b.run("edgeguard blocks add " + network + " --for 1h --force --reason box")
	b.until("a network is refused", refused(neighbour))
	b.run("edgeguard allow add " + offender + " --for 1h")
	b.until("an allowed address inside of it passes", passes(offender))
	for range 5 {
		b.run("systemctl reload haproxy")
		b.until("the network is refused after a reload", refused(neighbour))
		if b.refuses(offender, "/", p) {
			b.t.Error("an allowed address is refused after a reload")
		}
	}
	b.run("edgeguard allow remove " + offender + " && edgeguard blocks remove " + network)
	b.until("nobody is refused", passes(neighbour))
	b.offends(offender, "/long", p)
}

// site installs the package and begins a site.
func (b *box) site(w way) {
	b.t.Helper()
	b.follow("install", edit{"amd64", architecture})
	b.run(`cd /etc/edgeguard
		sed -i 's/^mode: monitor/mode: enforce/; /^presets:/,/^$/d' edgeguard.yaml
		echo 'rules: ` + rules + `' >>edgeguard.yaml
		systemd-run --quiet --unit=backend python3 -m http.server --bind 127.0.0.1 8080
		` + w.site + `
		systemctl restart ` + w.server)
}

// part returns one part of a snippet.
func (b *box) part(name, part string) string {
	b.t.Helper()
	return b.run("edgeguard snippets " + name + " --file " + part)
}

// printed runs the printed commands, each as it is.
func (b *box) printed(name, part string) {
	b.t.Helper()
	commands := strings.NewReplacer(" --install", " --install --yes", " --remove", " --remove --yes").Replace(b.part(name, part))
	for line := range strings.Lines(commands) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			b.done++
		}
	}
	b.t.Logf("snippets %s, %s:\n%s\n%s", name, part, commands, b.run(commands))
}
