package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/program"
)

// TestSetupBesideNginx runs setup on a copy of the configuration that Debian's nginx
// installs, starts that nginx and a node with the config that was written, and has a
// request counted from its log.
func TestSetupBesideNginx(t *testing.T) {
	const stock = "/etc/nginx"
	if _, err := os.Stat(stock + "/sites-available/default"); err != nil {
		t.Skip("Debian's nginx is not installed: scripts/need nginx:nginx-light")
	}
	s := emptySite(t)
	_ = os.CopyFS(filepath.Join(s.dir, "nginx"), os.DirFS(stock)) // links to what is outside are made below
	s.write("access.log", "")
	s.moved("nginx/nginx.conf", "modules-enabled", "no-modules", "/etc/nginx/", s.dir+"/nginx/", "/var/log/nginx/", s.dir+"/", "/run/nginx.pid", s.dir+"/nginx.pid",
		"user www-data;", "daemon off;"+nginxAsRoot(),
		"http {", "http { set_real_ip_from 127.0.0.1; real_ip_header X-Test-Client;"+nginxTemporary(s.dir))
	if err := os.RemoveAll(filepath.Join(s.dir, "nginx/sites-enabled")); err != nil {
		t.Fatal(err)
	}
	s.moved("nginx/sites-available/default", "listen 80 default_server", "listen "+s.front+" default_server", "listen [::]:80 default_server;", "")
	if err := os.Mkdir(filepath.Join(s.dir, "nginx/sites-enabled"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.dir, "nginx/sites-available/default"), filepath.Join(s.dir, "nginx/sites-enabled/default")); err != nil {
		t.Fatal(err)
	}
	s.write("nginx/sites-enabled/shop", "server { listen "+s.front+"; server_name shop.example.org; access_log "+s.dir+"/access.log; }\n")
	out, err := edgeguardCommand("setup", "--yes", "--nginx-log", "--proxy", "nginx="+s.dir+"/nginx/nginx.conf", "--config", s.dir+"/config.yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "counted   "+s.dir+"/access.log") {
		t.Fatalf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(s.dir + "/config.yaml"); err != nil || !strings.Contains(string(text), "\nown_hosts:\n  - shop.example.org\n\n") {
		t.Errorf("%v: the names of the site are not written:\n%s", err, text)
	}
	s.moved("config.yaml", "/run/edgeguard/auth.sock", s.dir+"/auth.sock", "unix:/run/edgeguard/admin.sock\", group: edgeguard-admin", "unix:"+s.dir+"/admin.sock\"",
		"127.0.0.1:9190", program.Address(t), "/var/lib/edgeguard", s.dir+"/state",
		"\nown_hosts:", "\nrules: [{name: provoked, match: {method: POST, path: /provoked}, threshold: 3, guard: 1, block_for: 24h, provoked_for: 1h}]\nown_hosts:")
	s.runNginx(filepath.Join(s.dir, "nginx/nginx.conf"))
	s.start()
	s.want("203.0.113.9", 3, http.StatusNotFound)
	request, err := http.NewRequest("GET", "http://"+s.front+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "any.example"
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // its status is in the log
	s.eventually("the log that was added has the host and Sec-Fetch-Site", func() bool {
		text, err := os.ReadFile(s.dir + "/edgeguard.log")
		return err == nil && strings.Contains(string(text), ` "cross-site" "any.example"`)
	})
	s.eventually("the requests are counted from the log", func() bool {
		_, body, err := getStatus("unix:"+s.dir+"/admin.sock", "/api/v1/explain/203.0.113.9", nil)
		return err == nil && strings.Contains(body, `"count":3`)
	})
	s.provoked(map[string]time.Duration{"cross-site": time.Hour, "same-site": time.Hour, "": time.Hour, "same-origin": 24 * time.Hour, "none": 24 * time.Hour})
	s.stop(syscall.SIGTERM)
}

// provoked has browsers send what a rule blocks for a day, each with one Sec-Fetch-Site, and wants
// each of them blocked for as long as is said.
func (s *site) provoked(lasts map[string]time.Duration) {
	s.t.Helper()
	client := 20
	for site, want := range lasts {
		client++
		addr := fmt.Sprintf("203.0.113.%d", client)
		for range 4 {
			request, err := http.NewRequest("POST", "http://"+s.front+"/provoked", http.NoBody)
			if err != nil {
				s.t.Fatal(err)
			}
			request.Header = http.Header{"X-Test-Client": {addr}, "User-Agent": {"Mozilla/5.0"}}
			if site != "" {
				request.Header.Set("Sec-Fetch-Site", site)
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				s.t.Fatal(err)
			}
			_ = answer.Body.Close()
		}
		var b admin.Block
		s.eventually(site+" is blocked", func() bool {
			status, body, err := getStatus("unix:"+s.dir+"/admin.sock", "/api/v1/blocks/"+addr, nil)
			return err == nil && status == http.StatusOK && json.Unmarshal([]byte(body), &b) == nil
		})
		if got := b.Until.Sub(b.Since); got != want || b.Rule != "provoked" {
			s.t.Errorf("Sec-Fetch-Site %q: blocked by %s for %v, want %v", site, b.Rule, got, want)
		}
	}
}

// moved replaces texts in a file of the site.
func (s *site) moved(name string, pairs ...string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(name, strings.NewReplacer(pairs...).Replace(string(text)))
}

// nginxAsRoot lets nginx's workers into the test's folder.
func nginxAsRoot() string {
	if os.Geteuid() == 0 {
		return " user root;"
	}
	return ""
}

// nginxTemporary are nginx's folders of temporary files.
func nginxTemporary(dir string) (text string) {
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		text += fmt.Sprintf(" %s_temp_path %s/%s;", what, dir, what)
	}
	return text
}
