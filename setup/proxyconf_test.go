package setup_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgeguard/logline"
	"edgeguard/setup"
)

// texts are files by their paths.
type texts map[string]string

func (t texts) Read(file string) (string, error) {
	text, there := t[file]
	if !there {
		return "", fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	}
	return text, nil
}

func (t texts) Glob(pattern string) (names []string) {
	for name := range t {
		if ok, _ := path.Match(pattern, name); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// shown returns what was found as lines.
func shown(f setup.Found) string {
	var b strings.Builder
	for _, l := range f.Logs {
		fmt.Fprintf(&b, "%s|%s|%s|%s\n", l.At, l.File, l.Format, l.Unusable)
	}
	for _, d := range f.Doubts {
		fmt.Fprintf(&b, "doubt: %s\n", d)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		proxy string
		files texts
		want  string
	}{
		"nginx, with includes, formats and streams": {"nginx", texts{
			"/etc/nginx/nginx.conf": `
user www-data;
http {
	log_format main '$remote_addr - $remote_user [$time_local] "$request" '
	                '$status $body_bytes_sent "$http_referer" '
	                '"$http_user_agent" "$http_x_forwarded_for"';
	log_format js escape=json '{"remote_addr":"$remote_addr"}';
	log_format own "$remote_addr [$time_iso8601] \"$request\" $status";
	access_log /var/log/nginx/access.log main buffer=64k flush=50ms; # as always
	include conf.d/*.conf;
	if ($x ~ "a;b}") { access_log /c.log combined if=$loggable; }
}
stream { log_format main '$remote_addr'; access_log /var/log/nginx/stream.log main; }
`,
			"/etc/nginx/conf.d/a.conf": "server {\n access_log /srv/a/access.log js; access_log off;\n set_real_ip_from 0.0.0.0/0;\n}",
			"/etc/nginx/conf.d/b.conf": "server { access_log \"/srv/b c.log\" own; access_log syslog:server=unix:/dev/log; access_log /srv/$host.log; access_log access-d.log; }",
		}, `/etc/nginx/nginx.conf:9|/var/log/nginx/access.log|combined|
/etc/nginx/conf.d/a.conf:2|/srv/a/access.log|json|
/etc/nginx/conf.d/b.conf:1|/srv/b c.log|$remote_addr [$time_iso8601] "$request" $status|
/etc/nginx/conf.d/b.conf:1|||goes to syslog:server=unix:/dev/log: let it go to a file as well
/etc/nginx/conf.d/b.conf:1|||its path /srv/$host.log has variables: name each file with --log, or all of them in the config with file: /srv/*.log
/etc/nginx/conf.d/b.conf:1|/var/log/nginx/access-d.log|combined|
/etc/nginx/nginx.conf:11|/c.log|combined|
doubt: /etc/nginx/conf.d/a.conf:3: set_real_ip_from 0.0.0.0/0 lets every client name his address, and so get others blocked: name your proxies only
doubt: /etc/nginx/nginx.conf:11: only requests of the condition if=$loggable are logged
`},
		"nginx without a word about logs": {"nginx", texts{"/etc/nginx/nginx.conf": "http { server { listen 80; } }"},
			"/etc/nginx/nginx.conf, by default|/var/log/nginx/access.log|combined|\n"},
		"nginx that logs nothing": {"nginx", texts{"/etc/nginx/nginx.conf": "http { access_log off; }"}, ""},
		"a header as the address": {"nginx", texts{"/etc/nginx/nginx.conf": "http { log_format x escape=json '{\"client_ip\": \"$http_x_real_ip\"}'; access_log /a.log x; }"},
			"/etc/nginx/nginx.conf:1|/a.log||its format has \"client_ip\": \"$http_x_real_ip, which clients write: put $remote_addr there\n"},
		"what is appended to combined, and says more": {"nginx", texts{"/etc/nginx/nginx.conf": "http { log_format x '$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_time \"$http_sec_fetch_site\"'; access_log /a.log x; }"},
			"/etc/nginx/nginx.conf:1|/a.log|$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_time \"$http_sec_fetch_site\"|\n"},
		"the added log": {"nginx", texts{"/etc/nginx/nginx.conf": "http { access_log /a.log; include conf.d/*.conf; server { access_log /s.log; } }", "/etc/nginx/conf.d/edgeguard-log.conf": "log_format edgeguard '$remote_addr [$time_local] \"$request\" $status'; access_log /edgeguard.log edgeguard;"},
			"/etc/nginx/nginx.conf:1|/a.log||its requests are in /edgeguard.log, too\n/etc/nginx/conf.d/edgeguard-log.conf:1|/edgeguard.log|$remote_addr [$time_local] \"$request\" $status|\n/etc/nginx/nginx.conf:1|/s.log|combined|\n"},
		"an include of itself": {"nginx", texts{"/etc/nginx/nginx.conf": "include nginx.conf; http { access_log off; }"},
			"doubt: /etc/nginx/nginx.conf: includes are nested more than 16 times\n"},
		"an include that is missing": {"nginx", texts{"/etc/nginx/nginx.conf": "include /x.conf; http { access_log /a.log; }"},
			"/etc/nginx/nginx.conf:1|/a.log|combined|\ndoubt: /x.conf: file does not exist\n"},
		"apache": {"apache", texts{
			"/etc/apache2/envvars": "SUFFIX=\nexport APACHE_LOG_DIR=/var/log/apache2$SUFFIX\nexport X=$(id)\n",
			"/etc/apache2/apache2.conf": `
LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined
LogFormat "%a %l %u %t \"%r\" %>s %O" byclient
IncludeOptional sites-enabled/*.conf
RemoteIPHeader X-Forwarded-For
`,
			"/etc/apache2/sites-enabled/a.conf": `<VirtualHost *:80>
	CustomLog ${APACHE_LOG_DIR}/access.log byclient
	CustomLog ${APACHE_LOG_DIR}/hosts.log \
	   vhost_combined env=!quiet
	CustomLog "|/usr/bin/rotatelogs /var/log/x 86400" combined
	customlog ${X}/y.log combined
	CustomLog logs/z.log "%h %l %u %t \"%r\" %>s %b"
</VirtualHost>`,
		}, `/etc/apache2/sites-enabled/a.conf:2|/var/log/apache2/access.log|%a %l %u %t "%r" %>s %O|
/etc/apache2/sites-enabled/a.conf:3|/var/log/apache2/hosts.log|vhost_combined|
/etc/apache2/sites-enabled/a.conf:5|||goes to the program /usr/bin/rotatelogs /var/log/x 86400: name the file that it writes with --log
/etc/apache2/sites-enabled/a.conf:6|||its path ${X}/y.log has variables that are not known: name the file with --log
/etc/apache2/sites-enabled/a.conf:7|/etc/apache2/logs/z.log|common|
doubt: /etc/apache2/sites-enabled/a.conf:3: only requests of the condition env=!quiet are logged
doubt: mod_remoteip believes every client's header: name your proxies with RemoteIPInternalProxy or RemoteIPTrustedProxy, or any address can be got blocked
`},
		"haproxy with rsyslog": {"haproxy", texts{
			"/etc/haproxy/haproxy.cfg":       "global\n log /dev/log local0\n log /dev/log local1 notice\n chroot /var/lib/haproxy\ndefaults\n log global\n option httplog\n",
			"/usr/sbin/rsyslogd":             "",
			"/etc/rsyslog.d/49-haproxy.conf": "$AddUnixListenSocket /var/lib/haproxy/dev/log\n\n:programname, startswith, \"haproxy\" {\n  /var/log/haproxy.log\n  stop\n}\n",
		}, "/etc/haproxy/haproxy.cfg:2|/var/log/haproxy.log|haproxy|\n"},
		"haproxy with a rule of rsyslog's other language": {"haproxy", texts{
			"/etc/haproxy/haproxy.cfg": "global\n log 127.0.0.1:514 local0\nfrontend a\n log-format \"%ci:%cp [%tr] %ST %{+Q}r\"\n",
			"/usr/sbin/rsyslogd":       "",
			"/etc/rsyslog.conf":        "*.* /var/log/syslog\nif $programname == 'haproxy' then action(type=\"omfile\" file=\"/srv/h.log\")\n",
		}, "/etc/haproxy/haproxy.cfg:2|/srv/h.log|%ci:%cp [%tr] %ST %{+Q}r|\n"},
		"haproxy with a log-format that cannot be read": {"haproxy", texts{
			"/etc/haproxy/haproxy.cfg": "global\n log 127.0.0.1:514 local0\nfrontend a\n log-format %ci\\ %ST\n",
			"/usr/sbin/rsyslogd":       "",
			"/etc/rsyslog.conf":        "if $programname == 'haproxy' then /srv/h.log\n",
		}, "/etc/haproxy/haproxy.cfg:2|/srv/h.log|haproxy|\ndoubt: /etc/haproxy/haproxy.cfg: log-format: log format \"%ci\\\\ %ST\": it has no client address or no time that HAProxy itself writes: add %ci and [%tr]: use `option httplog`\n"},
		"haproxy with two formats": {"haproxy", texts{
			"/etc/haproxy/haproxy.cfg": "global\n log 127.0.0.1:514 local0\ndefaults\n option httplog\nfrontend a\n log-format \"%ci [%tr]\"\n",
			"/usr/sbin/rsyslogd":       "",
			"/etc/rsyslog.conf":        "if $programname == 'haproxy' then /srv/h.log\n",
		}, "/etc/haproxy/haproxy.cfg:2|/srv/h.log|haproxy|\ndoubt: /etc/haproxy/haproxy.cfg: its sections log in 2 formats, of which `option httplog` is read: use one, or a log of its own for each\n"},
		"haproxy without rsyslog": {"haproxy", texts{
			"/etc/haproxy/haproxy.cfg":       "global\n log /dev/log local0\ndefaults\n option tcplog\n log 192.0.2.9:514 local0\n",
			"/etc/rsyslog.d/49-haproxy.conf": ":programname, startswith, \"haproxy\" /var/log/haproxy.log\n",
		}, `/etc/haproxy/haproxy.cfg:2|||goes to /dev/log, and no rsyslog writes it into a file: install rsyslog (Debian's haproxy has the rule for it), or see edgeguard snippets haproxy
/etc/haproxy/haproxy.cfg:5|||goes to 192.0.2.9:514: name the file that it ends in with --log, or see edgeguard snippets haproxy
doubt: /etc/haproxy/haproxy.cfg: without ` + "`option httplog`" + ` its log has no requests
`},
		"caddy": {"caddy", texts{
			"/etc/caddy/Caddyfile": `{
	email a@example.org
	log default {
		output file /var/log/caddy/default.log
	}
}
import sites/*
(logging) {
	log {
		output file /var/log/caddy/{args.0}.log
	}
}
a.example.org {
	log
	root * {$ROOT:/srv}
}
b.example.org {
	log {
		output file /var/log/caddy/b.log {
			roll_size 10mb
		}
		format json
	}
	respond "x } log {"
}
c.example.org {
	log {
		output net localhost:9000
	}
	log two {
		output file /c.log
		format console
	}
}
`,
			"/etc/caddy/sites/d": "d.example.org {\n\tlog {\n\t\toutput stdout\n\t}\n}",
		}, `/etc/caddy/sites/d:2|||goes to stdout: add ` + "`output file /var/log/caddy/access.log`" + ` to it
/etc/caddy/Caddyfile:9|||its path /var/log/caddy/{args.0}.log has placeholders: name each file with --log
/etc/caddy/Caddyfile:14|/var/log/caddy/default.log|json|
/etc/caddy/Caddyfile:18|/var/log/caddy/b.log|json|
/etc/caddy/Caddyfile:27|||goes to net localhost:9000: add ` + "`output file /var/log/caddy/access.log`" + ` to it
/etc/caddy/Caddyfile:30|/c.log||is written for people: use ` + "`format json`" + `
`},
		"traefik in YAML": {"traefik", texts{"/etc/traefik/traefik.yml": "log:\n  filePath: /x.log\naccessLog:\n  # where\n  filePath: \"/var/log/traefik/access.log\"\n  format: json\nmetrics:\n  format: no\n"},
			"/etc/traefik/traefik.yml:3|/var/log/traefik/access.log|json|\n"},
		"traefik in TOML": {"traefik", texts{"/etc/traefik/traefik.toml": "[accessLog]\n  filePath = \"/t.log\"\n[log]\n  filePath = \"/x.log\"\n"},
			"/etc/traefik/traefik.toml:1|/t.log|combined|\n"},
		"traefik to its output": {"traefik", texts{"/etc/traefik/traefik.yml": "accessLog: {}\n"},
			"/etc/traefik/traefik.yml:1|||goes to standard output: give accessLog a filePath\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, place := range setup.Places() {
				if _, there := c.files[place.File]; !there || place.Proxy != c.proxy {
					continue
				}
				found, err := setup.FindLogs(place, c.files)
				if got := shown(found); err != nil || got != c.want {
					t.Errorf("%v, got\n%swant\n%s", err, got, c.want)
				}
				return
			}
			t.Fatal("no file of its is in a known place")
		})
	}
}

// disk are the files of this host.
type disk struct{}

func (disk) Read(file string) (string, error) {
	text, err := os.ReadFile(file)
	return string(text), err
}

func (disk) Glob(pattern string) []string {
	names, _ := filepath.Glob(pattern)
	return names
}

// TestDebian reads the configurations that Debian's packages install.
func TestDebian(t *testing.T) {
	for _, c := range []struct {
		place setup.Place
		want  []string // FILE|FORMAT
	}{
		{setup.Place{Proxy: "nginx", File: "/etc/nginx/nginx.conf"}, []string{"/var/log/nginx/access.log|combined"}},
		{setup.Place{Proxy: "apache", File: "/etc/apache2/apache2.conf"}, []string{"/var/log/apache2/other_vhosts_access.log|vhost_combined", "/var/log/apache2/access.log|combined"}},
		{setup.Place{Proxy: "haproxy", File: "/etc/haproxy/haproxy.cfg"}, nil},
		{setup.Place{Proxy: "caddy", File: "/etc/caddy/Caddyfile"}, nil},
	} {
		if _, err := os.Stat(c.place.File); err != nil {
			t.Logf("%s is not installed", c.place.Proxy)
			continue
		}
		found, err := setup.FindLogs(c.place, disk{})
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, l := range found.Logs {
			got = append(got, l.File+"|"+l.Format)
			if _, err := logline.ParseFormat(l.Format); err != nil {
				t.Error(err)
			}
		}
		switch c.place.Proxy {
		case "haproxy": // with rsyslog and without
			if len(found.Logs) != 1 || found.Logs[0].File != "/var/log/haproxy.log" && !strings.Contains(found.Logs[0].Unusable, "rsyslog") {
				t.Errorf("haproxy: %s", shown(found))
			}
		case "caddy":
			if !slices.Equal(got, []string{setup.CaddyLog + "|json"}) || len(found.Doubts) != 1 {
				t.Errorf("caddy: %s", shown(found))
			}
		default:
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", c.place.Proxy, got, c.want)
			}
		}
	}
}

// endless is a configuration in which every file includes two more, and names logs.
type endless struct{}

func (endless) Read(file string) (string, error) {
	return "http { include " + file + "a; include " + file + "b; access_log " + file + ".log; log_format x '$remote_addr'; }", nil
}

func (endless) Glob(string) []string { return []string{"/a", "/b", "/c"} }

// TestBounds: whoever writes a configuration does not decide how long it is read.
func TestBounds(t *testing.T) {
	for _, proxy := range setup.ProxyNames() {
		found, err := setup.FindLogs(setup.Place{Proxy: proxy, File: "/x"}, endless{})
		if err != nil || len(found.Logs) > 200 || len(found.Doubts) > 8 {
			t.Errorf("%s: %v, %d logs, %d doubts", proxy, err, len(found.Logs), len(found.Doubts))
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"http { access_log /a.log main; log_format main '$remote_addr'; }", "a { b } } ; { \"", "CustomLog ${X}/a \"%h\"\n",
		"log /dev/log local0\n", "{\nlog {\noutput file /x\n}\n}\n", "accessLog:\n  filePath: x\n", "}", "log {", "log", "${", "a\\", `"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, proxy := range setup.ProxyNames() {
			found, err := setup.FindLogs(setup.Place{Proxy: proxy, File: "/x"}, texts{"/x": text})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range found.Logs {
				if l.File == "" && l.Unusable == "" || l.File != "" && !path.IsAbs(l.File) {
					t.Errorf("%s: %+v", proxy, l)
				}
			}
		}
	})
}
