package tools

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"edgeguard/cmd/edgeguard/snippets"
)

// blocks are what an arm adds to nginx's config.
type blocks struct {
	http   string // lines of the http block
	server string // lines of the server block
	whole  string // instead of a server block
}

// files serves the site.
func (s *site) files() string { return "location / {\n    root " + s.dir + ";\n}" }

// nginx starts nginx with one worker, that takes its clients' addresses from a proxy's
// header and writes its access log, buffered, as all of these ways do.
func (s *site) nginx(add blocks) error {
	if add.whole == "" {
		add.whole = fmt.Sprintf("server {\nlisten %s;\n%s\n%s\n}\n", s.address, add.server, s.files())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "daemon off;\nworker_processes 1;\npid %s;\nerror_log stderr emerg;\n", s.path("nginx.pid"))
	if os.Getuid() == 0 {
		b.WriteString("user root;\n") // the folder is ours
	}
	b.WriteString("events { worker_connections 1024; }\nhttp {\nkeepalive_requests 100000000;\n")
	fmt.Fprintf(&b, "access_log %s combined buffer=64k flush=50ms;\n", s.path("access.log"))
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "%s_temp_path %s;\n", kind, s.path(kind))
	}
	b.WriteString("set_real_ip_from 127.0.0.1;\nreal_ip_header X-Forwarded-For;\n" + add.http + add.whole + "}\n")
	if _, err := s.write("nginx.conf", b.String()); err != nil {
		return err
	}
	return s.serve("nginx", "-p", s.dir, "-c", s.path("nginx.conf"))
}

func nginxAlone(_ context.Context, s *site) error { return s.nginx(blocks{}) }

// perMinute is a rule as a rate of nginx's, which has whole numbers.
func (r rule) perMinute() uint32 {
	return uint32(uint64(r.limit) * uint64(time.Minute) / uint64(r.window))
}

// limitReq is a leaky bucket and has no window: it lets pass up to twice the limit in one.
func limitReq(_ context.Context, s *site) error {
	return s.nginx(blocks{http: fmt.Sprintf("limit_req_zone $binary_remote_addr zone=clients:10m rate=%dr/m;\n", s.perMinute()),
		server: fmt.Sprintf("limit_req zone=clients burst=%d nodelay;\nlimit_req_status 429;", s.limit-1)})
}

// fail2banJail bans whoever is over the limit, by nginx's log. The action is fail2ban's own
// for nginx: a packet filter would not see clients behind a proxy.
func fail2banJail(s *site) string {
	return fmt.Sprintf(`[site]
enabled = true
backend = auto
filter =
datepattern = ^[^\[]*\[({DATE})
failregex = ^<ADDR> - \S+ \[\] "
usedns = no
logpath = %[1]s
maxretry = %[2]d
findtime = %[3]d
bantime = 3600
maxmatches = 1
action = nginx-block-map[srv_cfg_path="%[4]s/", srv_pid="%[4]s/nginx.pid", srv_cmd="%[5]s -p %[4]s -c %[4]s/nginx.conf", blck_lst_file="%[4]s/banned.map"]
`, s.path("access.log"), s.limit+1, int(s.window/time.Second), s.dir, s.nginxPath())
}

func (s *site) nginxPath() string {
	path, _ := find("nginx") // the arm was not begun without
	return path
}

func fail2ban(ctx context.Context, s *site) error {
	for name, text := range map[string]string{
		"banned.map": "", "access.log": "", "fail2ban/jail.conf": fail2banJail(s),
		"fail2ban/fail2ban.conf": "[Definition]\nloglevel = ERROR\nlogtarget = STDERR\ndbfile = None\nallowipv6 = auto\n",
	} {
		if _, err := s.write(name, text); err != nil {
			return err
		}
	}
	if err := os.Symlink("/etc/fail2ban/action.d", s.path("fail2ban/action.d")); err != nil {
		return err
	}
	err := s.beside("fail2ban-server", "-f", "-c", s.path("fail2ban"), "-s", s.path("fail2ban.sock"), "-p", s.path("fail2ban.pid"))
	if err != nil {
		return err
	}
	// It makes its socket before it follows the log, and a moment passes until it does.
	if err := s.until(ctx, "makes "+s.path("fail2ban.sock"), func() bool { _, err := os.Stat(s.path("fail2ban.sock")); return err == nil }); err != nil {
		return err
	}
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	return s.nginx(blocks{http: "map $remote_addr $banned {\ninclude " + s.path("banned.map") + ";\n}\n", server: "if ($banned) {\nreturn 429;\n}"})
}

// askingNginx is nginx as `edgeguard snippets nginx` has it.
func (s *site) askingNginx(v snippets.Values) error {
	v.Auth, v.Listen, v.Locations, v.Closed = "unix:"+s.path("auth.sock"), s.address, s.files(), true
	var b strings.Builder
	if err := snippets.Write(&b, "nginx", v); err != nil {
		return err
	}
	// On a busy machine edgeguard may miss the snippet's deadlines, and what was then
	// measured would be something else.
	return s.nginx(blocks{whole: strings.NewReplacer(" 100ms;", " 10s;", " 50ms;", " 10s;").Replace(b.String())})
}

func forwardAuth(ctx context.Context, s *site) error {
	if err := s.startNode(ctx, `listen: {auth: [{address: "unix:$DIR/auth.sock", emit: request}], admin: ["unix:$DIR/admin.sock"]}`); err != nil {
		return err
	}
	return s.askingNginx(snippets.Values{})
}

const followedLog = `
sensors: {accesslog: [{file: $DIR/access.log, format: combined}]}`

// inMemory makes a folder on a tmpfs, which goes with the site.
func (s *site) inMemory() (string, error) {
	dir, err := os.MkdirTemp("/dev/shm", "edgeguard-tools")
	if err != nil {
		return "", err
	}
	release := s.release
	s.release = func() { release(); _ = os.RemoveAll(dir) }
	return dir, os.Chmod(dir, 0o755) // a worker of nginx may be somebody else
}

func cachedPass(ctx context.Context, s *site) error {
	cache, err := s.inMemory()
	if err != nil {
		return err
	}
	err = s.startNode(ctx, `listen: {auth: [{address: "unix:$DIR/auth.sock", emit: nothing}], admin: ["unix:$DIR/admin.sock"]}`+followedLog)
	if err != nil {
		return err
	}
	return s.askingNginx(snippets.Values{Cache: cache})
}

func nginxGeo(ctx context.Context, s *site) error {
	return s.refusingNginx(ctx, "nginx-geo", "", "enforce: {files: ["+s.geoList()+"}]}")
}

func nginxNames(ctx context.Context, s *site) error {
	dir, err := s.inMemory()
	if err != nil {
		return err
	}
	names := dir + "/names"
	return s.refusingNginx(ctx, "nginx-names", names, "enforce: {names: {folder: "+names+"}, files: ["+s.geoList()+", holds: wide}]}")
}

// geoList is the list of nginx's geo block, as its entry begins.
func (s *site) geoList() string {
	return fmt.Sprintf("{file: $DIR/nginx-geo.conf, format: nginx-geo, reload: [%s, -p, $DIR, -c, $DIR/nginx.conf, -s, reload]", s.nginxPath())
}

// refusingNginx is nginx as a snippet has it that refuses by what edgeguard writes.
func (s *site) refusingNginx(ctx context.Context, snippet, names, enforce string) error {
	if err := s.startNode(ctx, nodeAlone+followedLog+"\n"+enforce); err != nil {
		return err
	}
	if err := s.until(ctx, "writes nginx-geo.conf", func() bool { _, err := os.Stat(s.path("nginx-geo.conf")); return err == nil }); err != nil {
		return err
	}
	v := snippets.Values{State: s.dir, Names: names}
	http, err := snippets.Text(snippet, "proxy", v)
	if err != nil {
		return err
	}
	server, err := snippets.Text(snippet, "server", v)
	if err != nil {
		return err
	}
	return s.nginx(blocks{http: http, server: server})
}
