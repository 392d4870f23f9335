package server_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/admin/access"
	"edgeguard/admin/server"
	"edgeguard/internal/program"
)

// frontConf is a proxy's config with the places LISTEN, NODE and DIR.
type frontConf struct{ name, program, args, text string }

const apacheConf = `ServerRoot DIR
ServerName localhost
PidFile DIR/pid
ErrorLog DIR/error
Listen LISTEN
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
ProxyPass / http://NODE/
`

func nginxConf(location string) string {
	conf := "daemon off; master_process off; pid DIR/pid; error_log stderr error; events {}\nhttp { access_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		conf += kind + "_temp_path DIR/" + kind + ";\n"
	}
	return conf + "server { listen LISTEN; location / { proxy_pass http://NODE; " + location + "} } }\n"
}

// start runs the proxy before a node and returns its address.
func (c *frontConf) start(t *testing.T, node string) string {
	t.Helper()
	if _, err := exec.LookPath(c.program); err != nil {
		t.Skipf("%s is not installed", c.program)
	}
	dir, address := t.TempDir(), program.Address(t)
	replace := strings.NewReplacer("LISTEN", address, "NODE", node, "DIR", dir, "CONF", filepath.Join(dir, "conf"))
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(replace.Replace(c.text)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(c.program, strings.Fields(replace.Replace(c.args))...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &output, &output, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return address
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", c.name, &output)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen", c.name)
		}
	}
}

// A proxy that somebody puts before the open port of loopback does not show the
// node to the world, as its manual has it: in the last column.
func TestProxiesBeforeTheOpenPort(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	for _, c := range []struct {
		frontConf
		host string // of the client's request
		want int
	}{
		{frontConf{"nginx", "nginx", "-p DIR -c CONF", nginxConf("")}, "admin.example", http.StatusForbidden},
		{frontConf{"nginx with keep-alive", "nginx", "-p DIR -c CONF", nginxConf("proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;")}, "admin.example", http.StatusForbidden},
		{frontConf{"nginx that passes Host", "nginx", "-p DIR -c CONF", nginxConf("proxy_http_version 1.1; proxy_set_header Host $host;")}, "admin.example", http.StatusMisdirectedRequest},
		{frontConf{"Apache", "apache2", "-X -f CONF", apacheConf}, "admin.example", http.StatusForbidden},
		{frontConf{"Caddy", "caddy", "run --adapter caddyfile --config CONF", "{\nadmin off\n}\nhttp://LISTEN {\nreverse_proxy NODE {\nheader_up Host {upstream_hostport}\n}\n}\n"}, "", http.StatusForbidden},
		{frontConf{"HAProxy", "haproxy", "-db -f CONF", "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\nlisten l\n bind LISTEN\n server s NODE\n"}, "admin.example", http.StatusMisdirectedRequest},
		{frontConf{"HAProxy with forwardfor", "haproxy", "-db -f CONF", "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\nlisten l\n bind LISTEN\n option forwardfor\n http-request set-header Host localhost\n server s NODE\n"}, "admin.example", http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := c.start(t, s.tcp)
			for path, want := range map[string]int{"/api/v1/blocks": c.want, "/metrics": c.want, "/healthz": http.StatusOK} {
				r, err := http.NewRequest("GET", fmt.Sprintf("http://%s%s", address, path), nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Host = c.host
				answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if answer.StatusCode != want {
					t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
				}
			}
		})
	}
}

// A real nginx that names its user, as docs/operations.md has it: what the client
// sends under the same names reaches nobody.
func TestProxyNamesTheUser(t *testing.T) {
	s := serve(t, newNode(), server.Config{ProxyAuth: access.ProxyAuth{
		Set: true, From: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, SecretFile: tokenFile(t, proxySecret), User: "X-Forwarded-User", Role: "X-Edgeguard-Role",
	}})
	front := frontConf{"nginx", "nginx", "-p DIR -c CONF", nginxConf(`
		proxy_http_version 1.1;
		proxy_set_header Host $http_host;
		proxy_set_header X-Forwarded-For $remote_addr;
		proxy_set_header X-Forwarded-User $arg_as;
		proxy_set_header X-Edgeguard-Role $arg_role;
		proxy_set_header X-Edgeguard-Proxy-Secret ` + proxySecret + `;
	`)}
	address := front.start(t, s.tcp)
	for _, c := range []struct {
		query string
		want  int
		who   string
	}{
		{"as=alice&role=operator", http.StatusOK, "alice, by the proxy 127.0.0.1:"},
		{"as=bob&role=reader", http.StatusForbidden, ""},
		{"as=bob", http.StatusForbidden, ""},
		{"role=operator", http.StatusForbidden, ""},
	} {
		r, err := http.NewRequest("POST", "http://"+address+"/api/v1/reload?"+c.query, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Forwarded-User": {"mallory"}, "X-Edgeguard-Role": {"operator"},
			"X_forwarded_user": {"mallory"}, "Connection": {"close, X-Forwarded-User, X-Edgeguard-Role, X-Edgeguard-Proxy-Secret"}}
		before := s.lastAudit()
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		after := s.lastAudit()
		if answer.StatusCode != c.want || c.who == "" && !reflect.DeepEqual(after, before) || !strings.HasPrefix(after.Who, c.who) {
			t.Errorf("%s: %d, want %d: %+v", c.query, answer.StatusCode, c.want, after)
		}
	}
}
