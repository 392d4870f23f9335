package setup_test

import (
	"slices"
	"strings"
	"testing"

	"edgeguard/config"
	"edgeguard/setup"
)

// Names come from virtual hosts that have one, never from a regular expression, from what stands
// for any name, or from the server that answers all others.
func TestHosts(t *testing.T) {
	for name, c := range map[string]struct {
		proxy  string
		files  texts
		names  string
		unsure string
	}{
		"nginx": {"nginx", texts{
			"/etc/nginx/nginx.conf": `http {
	server { listen 80 default_server; server_name _; return 444; }
	server { listen 80; server_name "" 203.0.113.80 localhost; }
	include sites/*;
}
stream { server { listen 25; server_name smtp.example.org; } }`,
			"/etc/nginx/sites/a": "server { location / { } server_name WWW.example.org\n .shop.example; }\nserver { include sites/names; }",
			"/etc/nginx/sites/b": "upstream u { server 10.0.0.1; }\nserver { server_name *.cdn.example.; }",
		}, "www.example.org *.shop.example shop.example *.cdn.example", ""},
		"nginx, a name of many": {"nginx", texts{"/etc/nginx/nginx.conf": "http { server { server_name a.example ~^(?<x>.+)\\.example$; } }"},
			"a.example", "/etc/nginx/nginx.conf:1: a name is a regular expression"},
		"nginx, a star within": {"nginx", texts{"/etc/nginx/nginx.conf": "http { server { server_name www.example.*; } server { server_name $hostname; } }"},
			"", "/etc/nginx/nginx.conf:1: a name has a wildcard within"},
		"nginx, a default server with a name": {"nginx", texts{"/etc/nginx/nginx.conf": "http { server { server_name a.example; listen 443 ssl default_server; }\n server { server_name b.example; } }"},
			"a.example b.example", "/etc/nginx/nginx.conf:1: a default server has names"},
		"apache": {"apache", texts{"/etc/apache2/apache2.conf": `ServerName main.example
<VirtualHost *:80>
	#ServerName www.example.com
</VirtualHost>
<VirtualHost *:443>
	ServerName https://www.example.org:443
	ServerAlias example.org *.example.net
</VirtualHost>`}, "www.example.org example.org *.example.net", ""},
		"apache, variables": {"apache", texts{"/etc/apache2/apache2.conf": "<VirtualHost *:80>\nServerName ${X}.example\n</VirtualHost>\n<VirtualHost *:80>\nServerName b.example\n</VirtualHost>"},
			"b.example", "/etc/apache2/apache2.conf:1: a name has variables"},
		"apache, the default": {"apache", texts{"/etc/apache2/apache2.conf": "<VirtualHost _default_:80>\nServerName a.example\n</VirtualHost>"},
			"a.example", "/etc/apache2/apache2.conf:1: a default server has names"},
		"caddy": {"caddy", texts{
			"/etc/caddy/Caddyfile": `{
	email a@example.org
}
(log) {
	log
}
import sites/*
a.example.org,
https://b.example.org:8443, *.c.example.org {
	reverse_proxy localhost:9000
	@d host d.example.org
	handle @d {
	}
}
:80 {
	redir https://{host}
}
http://e.example.org/x* {
}`,
			"/etc/caddy/sites/f": "f.example.org {\n}\n",
		}, "f.example.org a.example.org b.example.org *.c.example.org e.example.org", ""},
		"traefik": {"traefik", texts{
			"/etc/traefik/traefik.yml": "accessLog:\n  filePath: /var/log/a.log\nproviders:\n  file:\n    directory: conf\n",
			"/etc/traefik/conf/a.yml": "http:\n  routers:\n    a:\n      rule: \"Host(`a.example.org`, `B.example.org`) || PathPrefix(`/c`) && !Host(`d.example.org`)\"\n" +
				"      # rule: Host(`e.example.org`)\n    f:\n      rule: HostSNI(`f.example.org`) || HostRegexp(`.*`)\n",
		}, "a.example.org b.example.org", "/etc/traefik/traefik.yml: containers and other providers may have more routers"},
		"traefik, toml": {"traefik", texts{
			"/etc/traefik/traefik.toml": "[providers.file]\n  filename = \"/etc/traefik/dynamic.toml\"\n",
			"/etc/traefik/dynamic.toml": "[http.routers.a]\nrule = 'Host(\"a.example.org\")'\n",
		}, "a.example.org", "/etc/traefik/traefik.toml: containers and other providers may have more routers"},
		"caddy, one site":      {"caddy", texts{"/etc/caddy/Caddyfile": "a.example.org\nlog {\n output file /a.log\n}\nroot * /srv\n"}, "a.example.org", ""},
		"caddy, a placeholder": {"caddy", texts{"/etc/caddy/Caddyfile": "{$DOMAIN} {\n}\n"}, "", "/etc/caddy/Caddyfile:1: a name has variables"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, place := range setup.Places() {
				if _, there := c.files[place.File]; !there || place.Proxy != c.proxy {
					continue
				}
				found, err := setup.FindLogs(place, c.files)
				if got := strings.Join(found.Hosts.Names, " "); err != nil || got != c.names || found.Hosts.Unsure != c.unsure {
					t.Errorf("%q, unsure %q, %v", got, found.Hosts.Unsure, err)
				}
			}
		})
	}
}

// The names are written where a log that is counted has the host or a Referer, and the pages
// that it shows as served are theirs.
func TestOwnHosts(t *testing.T) {
	const vhosts = `$host $remote_addr [$time_local] "$request" $status`
	lines := func(hosts ...string) (text string) {
		for _, host := range hosts {
			text += host + ` 203.0.113.9 [23/Nov/2026:11:57:00 +0000] "GET / HTTP/1.1" 200` + "\n"
		}
		return text
	}
	many := slices.Repeat([]string{"www.example.org"}, 20)
	for name, c := range map[string]struct {
		format, tail string
		unsure       string
		written      bool
		commented    bool
	}{
		"a Referer":             {"combined", strings.Repeat(line, 3), "", true, false},
		"a host":                {vhosts, lines(many...), "", true, false},
		"scanners":              {vhosts, lines(append(many, "203.0.113.80", "localhost", "other.example")...), "", true, false},
		"neither":               {`$remote_addr [$time_local] "$request" $status`, `203.0.113.9 [23/Nov/2026:11:57:00 +0000] "GET / HTTP/1.1" 200` + "\n", "", false, false},
		"others":                {vhosts, lines(append(many, "a.example", "b.example", "c.example")...), "", false, true},
		"not all by the config": {"combined", strings.Repeat(line, 3), "nginx.conf:1\n: a name", false, true},
	} {
		s := setup.Judge(setup.Log{Proxy: "nginx", File: "/var/log/nginx/access.log", Format: c.format}, seen(c.tail), account, now)
		found := setup.Found{Proxy: "nginx", Hosts: setup.SiteNames{Names: []string{"www.example.org", "*.example.net"}, Unsure: c.unsure}}
		text := setup.Config([]setup.Source{s}, setup.OwnHosts([]setup.Found{found}, []setup.Source{s}))
		got, err := config.Parse("x", []byte(text))
		if err != nil || !s.Follow {
			t.Fatalf("%s: %v, %+v\n%s", name, err, s, text)
		}
		if written := slices.Equal(got.OwnHosts, found.Hosts.Names); written != c.written || strings.Contains(text, "\n#own_hosts:\n#  - www.example.org\n") != c.commented {
			t.Errorf("%s: written %t\n%s", name, written, text)
		}
	}
}
