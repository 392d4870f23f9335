package recipes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/program"
)

// startNginx starts nginx with the printed lines. Where nginx takes its clients from a
// proxy's header, the test can be any client.
func (r *recipe) startNginx(front string) {
	r.t.Helper()
	need(r.t, "nginx", "nginx-light")
	site := ""
	if r.name == "nginx-geo" || r.name == "nginx-names" {
		site = "include " + r.write("server.conf", r.part("server")) + ";"
	}
	if err := os.Mkdir(r.node.Path("conf.d"), 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.write("conf.d/edgeguard.conf", r.part("proxy"))
	r.run(front, nil, "nginx", "-c", r.write("nginx.conf", nginxConfig(r.dir, front, site)))
	r.node.Until("nginx has written its pid", func() bool { s, err := os.Stat(r.node.Path("nginx.pid")); return err == nil && s.Size() > 0 })
}

// An offender that nginx's log names is refused, its neighbour is not, and the offender
// is served again when its block has ended.
func TestNginxLists(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]int{"nginx-geo": 429, "nginx-deny": 403} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need(t, "nginx", "nginx-light")
			front := program.Address(t)
			r := newRecipe(t, name)
			r.swaps = []string{"/var/log/nginx/access.log", r.node.Path("access.log"),
				"/bin/systemctl try-reload-or-restart nginx.service", "nginx -c " + r.node.Path("nginx.conf") + " -s reload"}
			if name == "nginx-deny" {
				r.swaps = append(r.swaps, "/var/lib/edgeguard-nginx/", r.dir+"/")
				r.write("deny.conf", "") // the service copies without an nginx, too
			}
			r.startNode()
			if name == "nginx-geo" { // nginx does not start without the list, which is written after the node is ready
				r.node.Until("the list is written", func() bool { _, err := os.Stat(r.node.Path("state/nginx-geo.conf")); return err == nil })
			}
			r.startNginx(front)
			for offender, neighbour := range map[string]string{"203.0.113.9": "203.0.113.10", "2001:db8::9": "2001:db8:0:1::9"} {
				r.attack(front, offender)
				r.until(offender+" is refused", func() bool { return get(front, "/", offender) == refusal })
				if got := get(front, "/", neighbour); got != 204 {
					t.Errorf("%s: status %d", neighbour, got)
				}
				r.must("blocks", "remove", block(offender))
				r.until(offender+" is served again", func() bool { return get(front, "/", offender) == 204 })
			}
		})
	}
}

// block is the prefix of a rule's block: IPv6 is counted by /64.
func block(client string) string {
	if strings.Contains(client, ":") {
		return "2001:db8::/64"
	}
	return client
}

// HAProxy refuses what is in the map, without a reload.
func TestHAProxyMap(t *testing.T) {
	t.Parallel()
	need(t, "haproxy", "haproxy")
	front := program.Address(t)
	r := newRecipe(t, "haproxy-map")
	r.swaps = []string{"/run/haproxy/admin.sock", r.node.Path("haproxy.sock")}
	r.startNode()
	r.node.Until("the map is there", func() bool { _, err := os.Stat(filepath.Join(r.values.State, "haproxy.map")); return err == nil })
	conf := r.write("haproxy.cfg", fmt.Sprintf(`global
	stats socket $DIR/haproxy.sock mode 660 level admin
	nbthread 1
defaults
	mode http
	timeout client 60s
	timeout server 60s
	timeout connect 60s
frontend site
	bind %s
	http-request set-src hdr(X-Forwarded-For)
%s
	http-request return status 200
`, front, r.part("proxy")))
	r.run(front, nil, "haproxy", "-db", "-f", conf)
	for offender, neighbour := range map[string]string{"203.0.113.9": "203.0.113.10", "2001:db8::9": "2001:db8:0:1::9"} {
		r.must("blocks", "add", block(offender), "--for", "1h", "--reason", "test")
		r.node.Until(offender+" is refused", func() bool { return get(front, "/", offender) == 429 })
		if got := get(front, "/", neighbour); got != 200 {
			t.Errorf("%s: status %d", neighbour, got)
		}
		r.must("blocks", "remove", block(offender))
		r.node.Until(offender+" is served again", func() bool { return get(front, "/", offender) == 200 })
	}
}

// Apache's log names the client that the proxy in front of it names, and no address that
// the client wrote into the same header.
func TestApacheLog(t *testing.T) {
	t.Parallel()
	need(t, "apache2", "apache2")
	const modules = "/usr/lib/apache2/modules" // where Debian has them
	if _, err := os.Stat(modules); err != nil {
		t.Skip(err)
	}
	front := program.Address(t)
	r := newRecipe(t, "apache")
	r.swaps = []string{"/var/log/apache2/edgeguard.log", r.node.Path("edgeguard.log")}
	r.startNode()
	user := ""
	if os.Geteuid() == 0 {
		user = "User www-data\nGroup www-data"
	}
	// The virtual host has a log of its own, as on a Debian.
	conf := r.write("apache.conf", fmt.Sprintf(`ServerRoot $DIR
PidFile $DIR/apache.pid
ServerName test
Listen %[1]s
LoadModule mpm_event_module %[2]s/mod_mpm_event.so
LoadModule authz_core_module %[2]s/mod_authz_core.so
LoadModule remoteip_module %[2]s/mod_remoteip.so
ErrorLog $DIR/apache-error.log
%[3]s
%[4]s
<VirtualHost *>
	CustomLog $DIR/own.log "%%h"
</VirtualHost>
`, front, modules, user, r.part("proxy")))
	r.run(front, []string{"APACHE_LOG_DIR=" + r.dir}, "apache2", "-D", "FOREGROUND", "-f", conf)
	for _, offender := range []string{"203.0.113.9", "2001:db8::9"} {
		r.attack(front, "198.51.100.1, "+offender)
		r.node.Until(offender+" is blocked", func() bool { return r.blocked(offender) })
	}
	for _, other := range []string{"198.51.100.1", "203.0.113.10", "127.0.0.1"} {
		if r.blocked(other) {
			t.Errorf("%s is blocked: %s", other, r.must("explain", other))
		}
	}
}

// The program of one's own is called after each change, with the whole list.
func TestPlain(t *testing.T) {
	t.Parallel()
	r := newRecipe(t, "plain")
	// The program runs as printed, with a logger that writes a file.
	r.write("logger", "#!/bin/sh\necho \"$@\" >> $DIR/said\n")
	r.env = []string{"PATH=" + r.dir + ":" + os.Getenv("PATH")}
	r.swaps = []string{"/usr/local/sbin/edgeguard-list", r.node.Path("program"), "/run/edgeguard-plain/", r.dir + "/"}
	r.startNode()
	r.write("program", r.part("program"))
	said := func() string {
		text, _ := os.ReadFile(r.node.Path("said"))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		return lines[len(lines)-1]
	}
	r.must("blocks", "add", "203.0.113.9", "--for", "1h", "--reason", "test")
	r.must("blocks", "add", "2001:db8::/64", "--for", "1h", "--reason", "test")
	r.until("the program sees both", func() bool { return said() == "-t edgeguard-list 2 addresses and prefixes are blocked" })
	list, err := os.ReadFile(filepath.Join(r.values.State, "blocked.txt"))
	if err != nil || string(list) != "203.0.113.9\n2001:db8::/64\n" {
		t.Errorf("the list is %q, %v", list, err)
	}
	r.must("blocks", "remove", "203.0.113.9")
	r.must("blocks", "remove", "2001:db8::/64")
	r.until("the program sees none", func() bool { return said() == "-t edgeguard-list 0 addresses and prefixes are blocked" })
}
