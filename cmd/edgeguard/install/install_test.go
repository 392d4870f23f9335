package install

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"edgeguard/admin"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/config"
)

// host is a folder with a proxy's files and edgeguard's, a real program that checks the one, and a
// systemd that only says what it was asked.
type host struct {
	t      *testing.T
	folder string
	proxy  string // its program
	config string // where its configuration begins
	asked  []string
	fails  string // what systemd or the proxy fails at
	before func(path string)
	log    string // HAProxy's
	answer string // on a terminal
	out    bytes.Buffer
}

func (h *host) path(name string) string { return filepath.Join(h.folder, name) }

func (h *host) write(name, text string) {
	h.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(h.path(name)), 0o755), os.WriteFile(h.path(name), []byte(strings.ReplaceAll(text, "DIR", h.folder)), 0o644)); err != nil {
		h.t.Fatal(err)
	}
}

const nginxConf = `events {}
pid DIR/pid; error_log DIR/error.log;
stream { server { listen 127.0.0.1:1; return a; } }
http {
  access_log DIR/access.log;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  include conf.d/*.conf;
  include enabled/*;
  server { listen unix:DIR/s; server_name "x{"; # } it's
    location / { return 200 "}"; } }
}
`

// proxies are hosts with one proxy each.
var proxies = map[string]struct {
	snippet, config, sensor string
	files                   map[string]string
}{
	"nginx": {"nginx-names", "nginx/nginx.conf", "DIR/access.log, format: combined", map[string]string{
		"nginx/nginx.conf":     strings.Replace(nginxConf, "stream {", "#stream {", 1),
		"nginx/available/one":  `server { listen unix:DIR/1; return 200 "a}b{"; }`,
		"nginx/enabled/two":    "server\r\n{ # don't {\r\n  listen unix:DIR/2; server_name b.example;\r\n  location / { return 204; }\r\n}\r\n",
		"nginx/enabled/.three": "server { not nginx",
		"nginx/conf.d/four":    "server { not nginx",
	}},
	"haproxy": {"haproxy-peers", "haproxy.cfg", "DIR/haproxy.log, format: haproxy", map[string]string{
		"haproxy.cfg": "global\n  log /dev/log local0\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 1s\n  timeout server 1s\nfrontend a\n  bind unix@DIR/a\n  acl x path /\n  http-request deny if x\n  default_backend b\nfrontend t\n  mode tcp\n  bind unix@DIR/t\n  default_backend c\nbackend b\n  server s 127.0.0.1:1\nbackend c\n  mode tcp\n  server s 127.0.0.1:1\n",
	}},
	"caddy": {"caddy-names", "caddy/Caddyfile", "DIR/a.log, format: json", map[string]string{
		"caddy/Caddyfile": "{\n\tadmin off\n}\n(common) {\n\theader X y\n}\nhttp://a.example:18080, http://b.example:18080 {\n\tlog {\n\t\toutput file DIR/a.log\n\t}\n\timport common\n\thandle /api/* {\n\t\trespond ok\n\t}\n\thandle {\n\t\trespond {$NONE:none}\n\t}\n}\nimport sites/*\n",
		"caddy/sites/c":   "http://c.example:18080 {\n\tlog {\n\t\toutput file DIR/c.log\n\t}\n\trespond c\n}\n",
	}},
}

func newHost(t *testing.T, proxy string) *host {
	t.Helper()
	if _, err := exec.LookPath(proxy); err != nil {
		t.Skipf("%s is not installed", proxy)
	}
	p := proxies[proxy]
	h := &host{t: t, folder: t.TempDir(), proxy: proxy}
	h.config = h.path(p.config)
	for name, text := range p.files {
		h.write(name, text)
	}
	if proxy == "nginx" {
		if err := os.Symlink("../available/one", h.path("nginx/enabled/one")); err != nil {
			t.Fatal(err)
		}
	}
	h.write("etc/edgeguard.yaml", "# mine\nmode: monitor # for now\nrules: [{name: all, threshold: 100}]\nstate: DIR/state\nlisten: {admin: ['unix:DIR/admin.sock']}\nsensors: {accesslog: [{file: "+p.sensor+"}]}\n")
	h.write("state/nginx-geo.conf", "")
	return h
}

// run runs a program, if it is not systemd's.
func (h *host) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	line := strings.Join(append([]string{name}, args...), " ")
	h.asked = append(h.asked, line)
	if h.fails != "" && strings.HasPrefix(line, h.fails) {
		return []byte("no"), errors.New("exit status 1")
	}
	if name != h.proxy {
		return nil, nil
	}
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "HOME="+h.folder)
	return c.CombinedOutput()
}

func (h *host) do(o Options, f func(context.Context, *Env, Options, func() snippets.Values) error) error {
	h.t.Helper()
	h.out.Reset()
	h.asked = nil
	env := &Env{
		Env:   &command.Env{Stdout: &h.out, Stderr: &h.out, Stdin: iotest.OneByteReader(strings.NewReader(h.answer))},
		Host:  Host{Root: h.folder, Systemd: true, Run: h.run, Before: h.before},
		Check: func(*config.Config) error { return nil },
		Status: func(context.Context) (admin.Stats, error) {
			return admin.Stats{Started: time.Unix(0, 0), Monitor: true, Events: admin.Totals{Decided: 70, WouldBeRefused: 7}}, nil
		},
	}
	if h.answer != "" {
		env.Raw = func() (func(), bool) { return func() {}, true }
	}
	o.Snippet, o.Config, o.Proxy = proxies[h.proxy].snippet, h.path("etc/edgeguard.yaml"), h.config
	return f(h.t.Context(), env, o, func() snippets.Values {
		if left, _ := filepath.Glob(h.path("etc/originals/*/unfinished.json")); len(left) > 0 {
			h.t.Errorf("the config is read while it has a piece of an interrupted run: %q", left)
		}
		return snippets.Values{State: h.path("state"), Names: h.path("names"), Log: cmp.Or(h.log, h.path("haproxy.log"))}
	})
}

// files returns what all files have, but for the kept originals and what the proxy makes.
func (h *host) files() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(h.folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{"originals", ".local", ".config"}, d.Name()) {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		if d.Type().IsRegular() && !strings.HasSuffix(path, ".log") && !strings.HasSuffix(path, "/pid") {
			text, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, h.folder+"/")] = string(text)
			return err
		}
		if d.Type() == fs.ModeSymlink {
			all[strings.TrimPrefix(path, h.folder+"/")] = "a link"
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// same fails where a file is not as it was.
func (h *host) same(before map[string]string, but ...string) {
	h.t.Helper()
	now := h.files()
	for name := range now {
		if _, was := before[name]; !was {
			h.t.Errorf("%s is left: %s", name, now[name])
		}
	}
	for name, text := range before {
		if now[name] != text && !slices.Contains(but, name) {
			h.t.Errorf("%s was %q and is %q", name, text, now[name])
		}
	}
}

func each(t *testing.T, f func(t *testing.T, h *host)) {
	for proxy := range proxies {
		t.Run(proxy, func(t *testing.T) { f(t, newHost(t, proxy)) })
	}
}

// The proxy accepts what it gets, a second install changes nothing, and a removal leaves no byte.
func TestThereAndBack(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		before := h.files()
		if err := h.do(Options{DryRun: true}, Install); err != nil || !strings.Contains(h.out.String(), "+++ "+h.config) && h.proxy != "nginx" || len(h.asked) > 1 {
			t.Fatal(err, h.asked, h.out.String())
		}
		h.same(before)
		if counted := "Counted: " + h.path("access.log") + "."; h.proxy == "nginx" && !strings.Contains(h.out.String(), counted) {
			t.Errorf("%q is not in %s", counted, h.out.String())
		}
		if err := h.do(Options{}, Install); err == nil || !strings.Contains(err.Error(), "--yes") {
			t.Fatal(err)
		}
		h.same(before)
		if err := h.do(Options{Yes: true}, Install); err != nil {
			t.Fatal(err, h.out.String())
		}
		if last := h.asked[len(h.asked)-1]; last != "systemctl restart edgeguard" || !slices.Contains(h.asked, "systemctl reload "+h.proxy) {
			t.Errorf("%q", h.asked)
		}
		config := h.files()["etc/edgeguard.yaml"]
		if config != strings.Replace(before["etc/edgeguard.yaml"], "monitor", "enforce", 1) || !strings.Contains(h.out.String(), "7 of 70 events would have been refused") {
			t.Errorf("%s\n%s", config, h.out.String())
		}
		installed := h.files()
		if err := h.do(Options{Yes: true}, Install); err != nil || !strings.Contains(h.out.String(), "nothing to do") {
			t.Fatal(err, h.out.String())
		}
		h.same(installed)
		if err := h.do(Options{Yes: true}, Remove); err != nil {
			t.Fatal(err, h.out.String())
		}
		h.same(before, "etc/edgeguard.yaml")
		if err := h.do(Options{Yes: true}, Remove); err != nil || !strings.Contains(h.out.String(), "nothing to do") {
			t.Fatal(err, h.out.String())
		}
	})
}

// Whatever fails, every file is as it was before the proxy was reloaded.
func TestFails(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		before := h.files()
		for _, fails := range []string{"systemctl restart", "systemctl daemon-reload", h.proxy, "systemctl reload"} {
			h.fails = fails
			if err := h.do(Options{Yes: true}, Install); err == nil || !strings.Contains(err.Error(), "Every file is as it was") {
				t.Errorf("%s: %v", fails, err)
			}
			h.same(before)
			if reloaded := slices.Contains(h.asked, "systemctl reload "+h.proxy); reloaded != (fails == "systemctl reload") {
				t.Errorf("%s: %q", fails, h.asked)
			}
		}
		h.fails = ""
		if err := h.do(Options{Yes: true}, Install); err != nil {
			t.Fatal(err)
		}
		installed := h.files()
		h.fails = h.proxy
		if err := h.do(Options{Yes: true}, Remove); err == nil {
			t.Error("removed")
		}
		h.same(installed)
	})
}

// Where a file of the proxy cannot be written, the others are put back, and a site can be left out.
func TestUnwritable(t *testing.T) {
	h := newHost(t, "nginx")
	before := h.files()
	h.before = func(string) {
		if err := os.Chmod(h.path("nginx/enabled"), 0o777); err != nil { // others could have put a link there
			t.Fatal(err)
		}
	}
	if err := h.do(Options{Yes: true}, Install); err == nil || !strings.Contains(err.Error(), "Every file is as it was") {
		t.Fatal(err, h.out.String())
	}
	h.same(before)
	if h.before = nil; os.Chmod(h.path("nginx/enabled"), 0o755) != nil {
		t.Fatal("its folder stays writable")
	}
	if err := h.do(Options{Yes: true, Without: []string{"b.example"}}, Install); err != nil || !strings.Contains(h.out.String(), "Nothing is refused at "+h.path("nginx/enabled/two:1")+" b.example: left out") {
		t.Fatal(err, h.out.String())
	}
	if err := h.do(Options{Yes: true, Without: []string{"c.example"}}, Install); err == nil || !strings.Contains(err.Error(), "no such site") {
		t.Fatal(err)
	}
}

// Who wants it installed and nothing refused yet has that.
func TestAnswers(t *testing.T) {
	h := newHost(t, "nginx")
	before := h.files()
	h.answer = "n\n"
	if err := h.do(Options{}, Install); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Error(err)
	}
	h.same(before)
	h.answer = "y\nn\n"
	if err := h.do(Options{}, Install); err != nil || !strings.Contains(h.out.String(), "stays in mode: monitor") || h.files()["etc/edgeguard.yaml"] != before["etc/edgeguard.yaml"] {
		t.Error(err, h.out.String())
	}
}

// What counts is never counted again, and a snippet that only refuses needs something that counts.
func TestCounts(t *testing.T) {
	h := newHost(t, "haproxy")
	const listens = "mode: monitor\nrules: [{name: all, threshold: 100}]\nstate: DIR/state\nlisten: {admin: ['unix:DIR/admin.sock'], auth: [{address: 'unix:DIR/auth.sock', emit: request}]}\n"
	h.write("etc/edgeguard.yaml", listens)
	h.log = "unix:/var/lib/haproxy/edgeguard/log.sock"
	before := h.files()
	if err := h.do(Options{Yes: true}, Install); err == nil || !strings.Contains(err.Error(), "counts requests, as does listen.auth: a request that both see counts twice") {
		t.Fatal(err, h.out.String())
	}
	h.same(before)
	n := newHost(t, "nginx")
	n.write("etc/edgeguard.yaml", listens)
	if err := n.do(Options{Yes: true}, Install); err == nil || !strings.Contains(err.Error(), "first run `edgeguard setup`") {
		t.Fatal(err)
	}
	if err := os.Remove(n.config); err != nil {
		t.Fatal(err)
	}
	if err := n.do(Options{Yes: true}, Install); err == nil || !strings.Contains(err.Error(), "is nginx installed?") {
		t.Fatal(err)
	}
	if err := n.do(Options{Yes: true}, Remove); err != nil || !strings.Contains(n.out.String(), "nothing to do") {
		t.Fatal(err, n.out.String())
	}
}

// killed is what the tests end a run with: nothing of it runs any more.
type killed struct{}

// A run that is killed before any of its changes or commands is taken back by the next one.
func TestKilled(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		h.write("etc/edgeguard.yaml", strings.Replace(h.files()["etc/edgeguard.yaml"], "monitor", "enforce", 1))
		before := h.files()
		for _, f := range []func(context.Context, *Env, Options, func() snippets.Values) error{Install, Remove} {
			for at := 0; ; at++ {
				start, step := h.files(), 0
				h.before = func(string) {
					if step++; step > at {
						panic(killed{})
					}
				}
				ended := func() (ended bool) {
					defer func() { ended = recover() == nil }()
					if err := h.do(Options{Yes: true}, f); err != nil {
						t.Fatal(err)
					}
					return true
				}()
				h.before = nil
				if ended {
					break
				}
				if now := h.files(); at > 0 && fmt.Sprint(now) == fmt.Sprint(start) {
					t.Errorf("%d: nothing was changed", at)
				}
				if left, _ := filepath.Glob(h.path("etc/originals/*/unfinished.json")); len(left) != 1 { // doctor looks for it
					t.Errorf("%d: %q", at, left)
				}
				if err := h.do(Options{DryRun: true}, f); err == nil || !strings.Contains(err.Error(), "interrupted") {
					t.Errorf("%d: %v", at, err)
				}
				if err := h.do(Options{}, f); err == nil || !strings.Contains(h.out.String(), "interrupted") {
					t.Errorf("%d: %v\n%s", at, err, h.out.String())
				}
				h.same(start)
			}
		}
		h.same(before, "etc/edgeguard.yaml")
	})
}
