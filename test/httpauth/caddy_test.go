package httpauth

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

// startCaddy runs the snippet, with its deadlines or others, and returns the port.
func startCaddy(t *testing.T, v snippets.Values, deadlines func(string) string) string {
	t.Helper()
	need(t, "caddy", "caddy")
	dir := t.TempDir()
	port := strconv.Itoa(program.Port(t))
	v.Listen = port
	var b strings.Builder
	b.WriteString("{\n\tadmin off\n\tauto_https off\n}\n")
	if err := snippets.Write(&b, "caddy", v); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(conf, []byte(deadlines(b.String())), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, port, []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir}, "caddy", "run", "--adapter", "caddyfile", "--config", conf)
	return port
}

func TestCaddy(t *testing.T) {
	need(t, "caddy", "caddy")
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			g, _ := startGuard(t, network, 2)
			port := startCaddy(t, snippets.Values{Auth: g.auth, Backend: startBackend(t)}, patient)
			for _, method := range []string{"GET", "POST"} {
				if a := get(t, port, "127.0.0.5", method, "/login?a=1", "X-Forwarded-For", "1.1.1.1", "X-Forwarded-Uri", "/forged"); a.status != 200 || a.body != "backend /login" {
					t.Fatalf("%s: %+v", method, a)
				}
			}
			a := get(t, port, "127.0.0.5", "POST", "/login?a=1", "X-Forwarded-For", "1.1.1.1")
			if a.status != 429 || a.header.Get("Retry-After") != "42" || a.header.Get("RateLimit") != `"site";r=0;t=42` ||
				a.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(a.body, "quota-exceeded") {
				t.Errorf("%+v", a)
			}
			if a := get(t, port, "127.0.0.6", "GET", "/"); a.status != 200 {
				t.Errorf("somebody else: %+v", a)
			}
			_, paths := g.counted()
			host := "127.0.0.1:" + port
			if want := []string{"GET " + host + "/login?a=1", "POST " + host + "/login?a=1", "POST " + host + "/login?a=1", "GET " + host + "/"}; !slices.Equal(paths, want) {
				t.Errorf("counted %q", paths)
			}
		})
	}
}

func TestCaddyWithoutEdgeguard(t *testing.T) {
	need(t, "caddy", "caddy")
	for _, c := range []struct {
		name                  string
		closed                bool
		whenStopped, whenHung int
	}{{"open", false, 200, 200}, {"closed", true, 502, 504}} {
		t.Run("stopped/"+c.name, func(t *testing.T) {
			g, stop := startGuard(t, "tcp", 100)
			port := startCaddy(t, snippets.Values{Auth: g.auth, Backend: startBackend(t), Closed: c.closed}, patient)
			if a := get(t, port, "127.0.0.5", "GET", "/"); a.status != 200 {
				t.Fatalf("before: %+v", a)
			}
			stop()
			if a := get(t, port, "127.0.0.5", "GET", "/x"); a.status != c.whenStopped || a.status == 200 && a.body != "backend /x" {
				t.Errorf("after: %+v", a)
			}
		})
		t.Run("hung/"+c.name, func(t *testing.T) {
			port := startCaddy(t, snippets.Values{Auth: startHung(t), Backend: startBackend(t), Closed: c.closed}, asItIs)
			if a := get(t, port, "127.0.0.5", "GET", "/x"); a.status != c.whenHung || a.status == 200 && a.body != "backend /x" {
				t.Errorf("%+v", a)
			}
		})
	}
}
