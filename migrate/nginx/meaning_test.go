package nginx_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/migrate/nginx"
	"edgeguard/rules"
)

// TestMeaning asks a real nginx which limit_req each of many requests meets, for random
// servers and locations: the rule of that one matches the request, and no other does. Each
// place has a zone of its own, and says its name in a header.
func TestMeaning(t *testing.T) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed: scripts/need nginx:nginx-light")
	}
	const configs, requests = 12, 400
	counted, other, made, refused := 0, 0, 0, 0
	for seed := range uint64(configs) {
		r := rand.New(rand.NewPCG(seed, 7))
		site := randomSite(r)
		if !strings.Contains(site, "limit_req ") {
			continue
		}
		report, err := nginx.Import([]byte(site))
		if err != nil {
			t.Fatalf("%v\n%s", err, site)
		}
		set, problems := rules.Compile(report.Specs())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		made += len(set.Rules)
		refused += len(report.Missing())
		ask := start(t, program, site)
		for range requests {
			host, path := pick(r, hosts), pick(r, paths)
			zone := ask(host, path)
			ev := &edgeguard.Event{
				Addr: netip.MustParseAddr("192.0.2.1"), Kind: edgeguard.KindRequest, Host: host, Path: path, Method: "GET",
				Known: edgeguard.FieldHost | edgeguard.FieldPath | edgeguard.FieldMethod,
			}
			for i := range set.Rules {
				name, _, _ := strings.Cut(set.Rules[i].Name, "-")
				_, got := set.Meters[set.Rules[i].Meter].Match(ev)
				if got != (name == zone) {
					t.Fatalf("seed %d: %s%s meets %s at nginx, and %s matches: %v\n%s\n%s", seed, host, path, zone, name, got, site, report.ConfigText("f"))
				}
				if got {
					counted++
				} else {
					other++
				}
			}
		}
	}
	if counted < configs*requests/4 || made < 2*configs {
		t.Errorf("%d rules, %d refused; %d requests matched and %d did not", made, refused, counted, other)
	}
}

var (
	hosts     = []string{"example.org", "www.example.org", "a.b.example.org", "example.com", "shop.example.com", "192.0.2.1", "WWW.Example.Org"}
	paths     = []string{"/", "/a", "/a/", "/a/b", "/a/b/c.php", "/A/b.PHP", "/login", "/login/", "/login.php?x=/a", "/api/v1", "//a//b", "/a/../login", "/%61/b", "/a/./b.css", "/img/x.png", "/a;b", "/a%2Fb", "/a/%2e%2e/login", "/a%5Cb", "/a/.", "/a/..", "/login%3Fx", "/%25/a", "/a/b%20c.php", "/a/b/c.php/x", "/%E0%A4/a", "/img/../a/b", "/a/b;x=1.php", "/a//", "///login", "/login#x", "/a?b.php", "/api/v1/../../login", "/login%2F", "/a/b/..;/login", "/\\a", "/A%2eb", "/b%0a"}
	locations = []string{"= /", "= /login", "= /a/b", "/", "/a", "/a/", "/a/b", "/login", "/api/", "^~ /img/", "^~ /a/b/", `~ \.php$`, `~* \.(php|css)$`, "~ ^/a/", "~ b", "~* ^/LOGIN"}
	names     = []string{"example.org", "www.example.org", "*.example.org", ".example.com", "example.com", "*.b.example.org", "shop.example.*", "example.*", "www.example.*"}
)

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// randomSite returns the block http of a configuration.
func randomSite(r *rand.Rand) string {
	var zones, servers strings.Builder
	zone := 0
	limit := func(most int) string {
		if r.IntN(3) >= most {
			return ""
		}
		zone++
		fmt.Fprintf(&zones, "limit_req_zone $binary_remote_addr zone=z%d:64k rate=1000r/s;\n", zone)
		return fmt.Sprintf("limit_req zone=z%d burst=100; add_header X-Zone z%d always; ", zone, zone)
	}
	top := limit(1)
	used := map[string]bool{}
	for i := range 1 + r.IntN(4) {
		var own []string
		is := ""
		if i == 0 { // which hosts another default server serves is not said: see doubts
			own, is = []string{"_"}, "default_server"
		}
		for range min(i, 1+r.IntN(2)) {
			name := pick(r, names)
			if exact := strings.TrimPrefix(name, "."); !used[exact] { // of two servers with one name, nginx ignores one
				used[exact] = true
				own = append(own, name)
			}
		}
		if len(own) == 0 {
			continue
		}
		fmt.Fprintf(&servers, "server {\n\tlisten unix:SOCKET %s;\n\tserver_name %s; %s\n", is, strings.Join(own, " "), limit(1))
		seen := map[string]bool{}
		for range r.IntN(5) {
			l := pick(r, locations)
			if key := strings.TrimPrefix(l, "^~ "); !seen[key] {
				seen[key] = true
				inner := limit(2)
				if inner == "" && r.IntN(2) == 0 { // it answers before any limit_req
					inner = "return 204; add_header X-Zone none always; "
				}
				fmt.Fprintf(&servers, "\tlocation %s { %s}\n", l, inner)
			}
		}
		servers.WriteString("}\n")
	}
	return fmt.Sprintf("http {\nroot /nonexistent;\n%s%s\n%s}\n", zones.String(), top, servers.String())
}

// start starts an nginx, and returns what asks it for the zone of a request.
func start(t *testing.T, program, site string) func(host, path string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	site = strings.ReplaceAll(site, "SOCKET", socket)
	temporary := ""
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s/%s;\n", name, dir, name)
	}
	text := fmt.Sprintf("daemon off;\nmaster_process off;\npid %s/pid;\nerror_log %s/log crit;\nevents {}\n", dir, dir) +
		strings.Replace(site, "http {\n", "http {\naccess_log off;\n"+temporary, 1)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-p", dir, "-e", filepath.Join(dir, "log"), "-c", file)
	var out strings.Builder
	c.Stderr = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	for {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("nginx: %v: %s\n%s", err, out.String(), text)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return func(host, path string) string {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, host); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s%s: %v", host, path, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.Header.Get("X-Zone")
	}
}
