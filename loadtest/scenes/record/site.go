package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Where nginx has its modules, and the one for WebDAV.
const (
	modules   = "/usr/lib/nginx/modules/"
	davModule = "ngx_http_dav_ext_module.so"
)

// site is nginx with a folder of pages, a WebDAV folder, and behind it what answers by
// the request: an application, and repositories of git.
type site struct {
	folder, url string
	nginx       *exec.Cmd
	app         *http.Server
	done        chan struct{} // closed when a page asks for /done

	mu    sync.Mutex
	calls map[string]int
}

const nginxConf = `
%[1]s
daemon off; master_process off; pid %[2]s/nginx.pid; error_log %[2]s/error.log;
events {}
http {
	types { text/html html; text/css css; text/javascript js; image/svg+xml svg; application/xml xml; }
	log_format record '$msec\t$request_method\t$request_uri\t$status\t$http_referer\t$http_sec_fetch_site\t$http_sec_fetch_dest\t$http_sec_purpose\t$http_user_agent';
	access_log %[2]s/access.log record;
	client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi; uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
	client_max_body_size 10m;
	%[5]s
	server {
		listen %[3]s;
		root %[2]s/www;
		location /app/ { proxy_pass http://%[4]s; proxy_buffering off; }
		location /git/ { proxy_pass http://%[4]s; }
		location /done { proxy_pass http://%[4]s; access_log off; }
		%[6]s
	}
}
`

// open makes the site below a folder.
func open(ctx context.Context, folder string) (*site, error) {
	s := &site{folder: folder, done: make(chan struct{}), calls: make(map[string]int)}
	if err := s.write(); err != nil {
		return nil, err
	}
	behind, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.app = &http.Server{Handler: s.handler(ctx)}
	go func() { _ = s.app.Serve(behind) }() // it ends when the site is closed
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := front.Addr().String()
	_ = front.Close()
	s.url = "http://" + address
	load, zone, dav := "", "", ""
	if missingOf([]string{davModule}) == "" {
		load, zone = "load_module "+modules+davModule+";", "dav_ext_lock_zone zone=locks:1m;"
		dav = "location /dav/ { dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS LOCK UNLOCK; dav_ext_lock zone=locks; create_full_put_path on; }"
	}
	conf := filepath.Join(folder, "nginx.conf")
	if os.Geteuid() == 0 {
		load = "user root;" + load
	}
	text := fmt.Sprintf(nginxConf, load, folder, address, behind.Addr(), zone, dav)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return nil, err
	}
	s.nginx = exec.CommandContext(ctx, "nginx", "-c", conf)
	s.nginx.Stderr = os.Stderr
	if err := s.nginx.Start(); err != nil {
		return nil, err
	}
	return s, s.await(address)
}

// await waits until nginx takes connections.
func (s *site) await(address string) error {
	var err error
	for range 100 {
		var c net.Conn
		if c, err = net.Dial("tcp", address); err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func (s *site) close() error {
	err := s.nginx.Process.Signal(syscall.SIGTERM)
	_ = s.nginx.Wait() // it was told to end
	return errors.Join(err, s.app.Close())
}

// write writes the pages.
func (s *site) write() error {
	files := map[string]string{"style.css": "body{}", "menu.js": "//# sourceMappingURL=menu.js.map", "robots.txt": "User-agent: *\nAllow: /\n",
		"app.html": appPage, "404.html": "gone", "dav/.keep": "", "feeds/index.html": ""}
	for n := range 12 {
		files[fmt.Sprintf("picture-%d.svg", n)] = `<svg xmlns="http://www.w3.org/2000/svg"/>`
		files[fmt.Sprintf("feeds/%d.xml", n)] = fmt.Sprintf(feed, n)
	}
	for n := range 5 {
		files[fmt.Sprintf("page-%d.html", n)] = page(n)
	}
	files["index.html"] = files["page-0.html"]
	for name, text := range files {
		name = filepath.Join(s.folder, "www", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const feed = `<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour %d</title><link>http://harbour.example/</link><description>News</description>
<item><title>Tide</title><guid>tide</guid><description>High</description></item></channel></rss>`

// page is the n-th page of a visit. It shows twelve pictures and one that is gone, has
// eight dead links, and goes on to the next page by itself, the last of them to the
// application. Browsers are told to fetch the dead links ahead: on the second page by
// <link>, on the third by rules that say "immediate", on the fourth by "eager".
func page(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><title>Page %d</title><link rel="stylesheet" href="/style.css"><script src="/menu.js"></script>`, n)
	for i := range 12 {
		fmt.Fprintf(&b, `<img src="/picture-%d.svg">`, i)
	}
	b.WriteString(`<img src="/picture-gone.jpg">`)
	for i := range 8 {
		fmt.Fprintf(&b, `<a href="/old/%d-%d.html">old</a>`, n, i)
		if n == 1 {
			fmt.Fprintf(&b, `<link rel="prefetch" href="/old/%d-%d.html">`, n, i)
		}
	}
	if how := map[int]string{2: "immediate", 3: "eager"}[n]; how != "" {
		fmt.Fprintf(&b, `<script type="speculationrules">{"prefetch":[{"source":"document","where":{"href_matches":"/old/*"},"eagerness":%q}]}</script>`, how)
	}
	next := fmt.Sprintf("/page-%d.html", n+1)
	if n == 4 {
		next = "/app.html"
	}
	fmt.Fprintf(&b, `<a href="/page-%d.html">next</a><script>setTimeout(()=>location.assign(%q),5000)</script>`, (n+1)%5, next)
	return b.String()
}

// appPage is an application: two wrong passwords, then the right one; news that it asks
// for every two seconds, until the session ends; a stream of events that breaks off,
// and then fails.
const appPage = `<!doctype html><title>App</title><link rel="manifest" href="/app/manifest.json"><script>
const send = (p) => fetch('/app/login', {method: 'POST', body: 'password=' + p})
const wait = (ms) => new Promise((done) => setTimeout(done, ms))
async function run() {
  await send('a'); await wait(3000); await send('b'); await wait(3000); await send('right')
  const events = new EventSource('/app/events')
  for (let n = 0; n < 12; n++) {
    await Promise.all(['news', 'tasks', 'mail', 'people'].map((w) => fetch('/app/' + w).catch(() => 0)))
    await wait(2000)
  }
  await fetch('/done')
}
run()
</script>`

// handler answers for the application and for git.
func (s *site) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/done", func(http.ResponseWriter, *http.Request) { close(s.done) })
	mux.HandleFunc("POST /app/login", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1000))
		if string(body) != "password=right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/app/", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.calls[r.URL.Path]++
		call := s.calls[r.URL.Path]
		s.mu.Unlock()
		switch {
		case r.URL.Path == "/app/events" && call < 4:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: tide\n\n") // the client may be gone
		case r.URL.Path == "/app/events", strings.HasPrefix(r.URL.Path, "/app/fails"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.HasPrefix(r.URL.Path, "/app/busy") && call < 3:
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.HasPrefix(r.URL.Path, "/app/private"):
			w.Header().Set("WWW-Authenticate", `Basic realm="Harbour"`)
			w.WriteHeader(http.StatusUnauthorized)
		case call > 8:
			w.WriteHeader(http.StatusUnauthorized) // the session has ended
		}
	})
	if folder, err := exec.CommandContext(ctx, "git", "--exec-path").Output(); err == nil {
		backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(folder)), "git-http-backend"), Root: "/git/smart",
			Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(s.folder, "repositories"), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=harbour"}}
		mux.Handle("/git/smart/", backend)
		mux.HandleFunc("/git/private/", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="Harbour"`)
			w.WriteHeader(http.StatusUnauthorized)
		})
	}
	return mux
}
