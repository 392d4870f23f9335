package httpauth

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

// startNginx runs the snippet, with its deadlines or others, and returns the port.
func startNginx(t *testing.T, v snippets.Values, deadlines func(string) string) string {
	t.Helper()
	need(t, "nginx", "nginx-light")
	dir := t.TempDir()
	port := strconv.Itoa(program.Port(t))
	v.Listen = "127.0.0.1:" + port
	var b strings.Builder
	fmt.Fprintf(&b, "daemon off;\nmaster_process off;\npid %s/pid;\nerror_log stderr error;\nevents {}\nhttp {\naccess_log off;\n", dir)
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	if err := snippets.Write(&b, "nginx", v); err != nil {
		t.Fatal(err)
	}
	b.WriteString("}\n")
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(deadlines(b.String())), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, port, nil, "nginx", "-p", dir, "-c", conf)
	return port
}

func TestNginx(t *testing.T) {
	need(t, "nginx", "nginx-light")
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			g, _ := startGuard(t, network, 3)
			port := startNginx(t, snippets.Values{Auth: g.auth, Backend: startBackend(t)}, patient)
			for i, method := range []string{"GET", "POST", "HEAD"} {
				// A forged address, and an id that the client keeps, change nothing.
				a := get(t, port, "127.0.0.5", method, "/login?a=1", "X-Forwarded-For", "1.1.1.1", "X-Real-IP", "1.1.1.1", "X-Request-Id", "mine")
				if a.status != 200 || method != "HEAD" && a.body != "backend /login" || a.header.Get("Retry-After") != "" {
					t.Fatalf("request %d: %+v", i, a)
				}
			}
			for _, method := range []string{"GET", "POST"} {
				a := get(t, port, "127.0.0.5", method, "/login", "X-Request-Id", "mine")
				if a.status != 429 || a.header.Get("Retry-After") != "42" || a.header.Get("RateLimit") != `"site";r=0;t=42` ||
					a.header.Get("RateLimit-Policy") != `"site";q=3;w=300` || a.header.Get("X-Edgeguard-Rule") != "site" ||
					a.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(a.body, "quota-exceeded") {
					t.Errorf("%s: %+v", method, a)
				}
			}
			if a := get(t, port, "127.0.0.6", "GET", "/", "Sec-Fetch-Site", "cross-site"); a.status != 200 {
				t.Errorf("somebody else: %+v", a)
			}
			_, paths := g.counted()
			want := []string{"GET 127.0.0.1/login?a=1", "POST 127.0.0.1/login?a=1", "HEAD 127.0.0.1/login?a=1", "GET 127.0.0.1/login", "POST 127.0.0.1/login", "GET 127.0.0.1/ cross-site"}
			if !slices.Equal(paths, want) {
				t.Errorf("counted %q", paths)
			}
		})
	}
}

// TestNginxLongHeader: what the client writes cannot make edgeguard give up,
// which would open the door.
func TestNginxLongHeader(t *testing.T) {
	need(t, "nginx", "nginx-light")
	g, _ := startGuard(t, "tcp", 0)
	port := startNginx(t, snippets.Values{Auth: g.auth, Backend: startBackend(t)}, patient)
	long := strings.Repeat("x", 7000)
	if a := get(t, port, "127.0.0.5", "GET", "/", "Cookie", long, "X-A", long, "X-B", long); a.status != 429 {
		t.Errorf("long header: %d", a.status)
	}
	if a := get(t, port, "127.0.0.5", "GET", "/"+long, "User-Agent", long, "X-Real-IP", "\x80"); a.status != 429 {
		t.Errorf("long path and agent: %d", a.status)
	}
	port = startNginx(t, snippets.Values{Auth: g.auth, Backend: startBackend(t)}, patient)
	if a := get(t, port, "127.0.0.5", "GET", "/"+strings.Repeat("y", 8000), "User-Agent", strings.Repeat("z", 8100)); a.status == 200 {
		t.Errorf("over edgeguard's limit: %d", a.status)
	}
}

func TestNginxRedirectsAreCountedOnce(t *testing.T) {
	need(t, "nginx", "nginx-light")
	root := t.TempDir()
	for name, text := range map[string]string{"index.html": "index", "fallback.html": "fallback"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, _ := startGuard(t, "tcp", 100)
	port := startNginx(t, snippets.Values{Auth: g.auth, Locations: "root " + root + ";\nindex index.html;\n" +
		"location /app/ { try_files $uri /fallback.html; }\nlocation /gone/ { error_page 404 /index.html; }"}, patient)
	for i, c := range []struct{ path, body string }{{"/", "index"}, {"/app/x", "fallback"}, {"/gone/x", "index"}} {
		a := get(t, port, "127.0.0.5", "GET", c.path)
		if n, paths := g.counted(); a.body != c.body || n != i+1 {
			t.Errorf("%s: %q, counted %q", c.path, a.body, paths)
		}
	}
	if s := g.server.Stats(); s.Repeated < 2 {
		t.Errorf("nginx asked for nothing twice, so that this proves nothing: %+v", s)
	}
}

func TestNginxWithoutEdgeguard(t *testing.T) {
	need(t, "nginx", "nginx-light")
	for _, c := range []struct {
		name   string
		closed bool
		status int
	}{{"open", false, 200}, {"closed", true, 500}} {
		t.Run("stopped/"+c.name, func(t *testing.T) {
			g, stop := startGuard(t, "tcp", 100)
			port := startNginx(t, snippets.Values{Auth: g.auth, Backend: startBackend(t), Closed: c.closed}, patient)
			if a := get(t, port, "127.0.0.5", "GET", "/"); a.status != 200 {
				t.Fatalf("before: %+v", a)
			}
			stop()
			for range 5 {
				if a := get(t, port, "127.0.0.5", "POST", "/x"); a.status != c.status || c.status == 200 && a.body != "backend /x" {
					t.Errorf("after: %+v", a)
				}
			}
		})
		t.Run("hung/"+c.name, func(t *testing.T) {
			port := startNginx(t, snippets.Values{Auth: startHung(t), Backend: startBackend(t), Closed: c.closed}, asItIs)
			for range 5 {
				if a := get(t, port, "127.0.0.5", "POST", "/x"); a.status != c.status || c.status == 200 && a.body != "backend /x" {
					t.Errorf("%+v", a)
				}
			}
		})
	}
}

// TestNginxCache: with a cached pass, edgeguard is asked once a second and
// address, and a refusal comes with the next second. In which second nginx
// looked is known only of a request that lies in one from beginning to end.
func TestNginxCache(t *testing.T) {
	need(t, "nginx", "nginx-light")
	g, _ := startGuard(t, "tcp", 1000)
	port := startNginx(t, snippets.Values{Auth: g.auth, Backend: startBackend(t), Cache: t.TempDir()}, patient)
	ask := func(from string) (a answer, began, ended int64) {
		began = time.Now().Unix()
		a = get(t, port, from, "GET", "/")
		return a, began, time.Now().Unix()
	}
	begun := time.Now()
	var second int64 // in which the last such request lay
	var then int     // how often edgeguard had been asked after it
	for kept, renewed := false, false; !kept || !renewed; {
		a, began, ended := ask("127.0.0.5")
		if a.status != 200 || time.Since(begun) > patience {
			t.Fatalf("%+v, kept %v, renewed %v", a, kept, renewed)
		}
		if began != ended {
			continue
		}
		asked, _ := g.counted()
		switch passed := int(ended - second); {
		case second == 0:
		case passed == 0:
			kept = true
			if asked != then {
				t.Errorf("in one second asked %d times more", asked-then)
			}
		default:
			renewed = true
			if more := asked - then; more < 1 || more > passed {
				t.Errorf("in %d more seconds asked %d times", passed, more)
			}
		}
		second, then = ended, asked
	}
	if a, _, _ := ask("127.0.0.6"); a.status != 200 {
		t.Errorf("another address: %+v", a)
	}
	g.setLimit(0)
	refuse := time.Now().Unix()
	for {
		a, began, _ := ask("127.0.0.5")
		if a.status == 429 {
			break
		}
		if began > refuse || a.status != 200 {
			t.Fatalf("no refusal in the next second: %+v", a)
		}
	}
	before, _ := g.counted()
	a, _, _ := ask("127.0.0.5")
	if after, _ := g.counted(); a.status != 429 || after != before+1 {
		t.Errorf("after the refusal: asked %d times, %+v", after-before, a)
	}
}
