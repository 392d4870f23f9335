package feed

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serve runs an HTTPS server on loopback, and returns a fetcher that trusts it.
func serve(t *testing.T, path string, handler http.HandlerFunc) *Fetcher {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := NewFetcher(FetchSettings{URL: server.URL + path, CAFile: ca, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	f.longest, f.stall = 10*time.Second, 5*time.Second
	return f
}

func get(t *testing.T, f *Fetcher, had Marks) (Answer, error) {
	t.Helper()
	return f.FetchList(t.Context(), had)
}

func write(w http.ResponseWriter, text string) { _, _ = w.Write([]byte(text)) }

func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A server that plays fair: plain, compressed, in chunks, and the same as before.
func TestGet(t *testing.T) {
	f := serve(t, "/list", func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != "edgeguard/1.2.3" || r.Header.Get("Key") != "s3cret" {
			http.Error(w, "who?", http.StatusForbidden)
			return
		}
		w.Header().Set("ETag", `"v1"`)
		switch {
		case r.Header.Get("If-None-Match") == `"v1"`:
			w.WriteHeader(http.StatusNotModified)
		case r.URL.Path == "/list":
			http.Redirect(w, r, "/packed", http.StatusFound)
		case r.URL.Path == "/packed":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Last-Modified", "Fri, 02 Jan 2026 05:17:00 GMT")
			_, _ = w.Write(zipped(t, []byte("5.6.7.8\n")))
		}
	})
	f.settings.HeaderFile = filepath.Join(t.TempDir(), "header")
	if err := os.WriteFile(f.settings.HeaderFile, []byte("Key: s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := get(t, f, Marks{})
	if err != nil || string(got.Data) != "5.6.7.8\n" || got.Same || got.Marks != (Marks{`"v1"`, "Fri, 02 Jan 2026 05:17:00 GMT"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if again, err := get(t, f, got.Marks); err != nil || !again.Same || again.Data != nil || again.Marks != got.Marks {
		t.Errorf("%+v, %v", again, err)
	}
	for _, text := range []string{"Key", "Key:", ": x", "Key: a\nOther: b", "K y: x", "Key: \x01"} {
		if err := os.WriteFile(f.settings.HeaderFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := get(t, f, Marks{}); err == nil || !strings.Contains(err.Error(), "is not one line of the form Name: value") || len(text) > 3 && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// raw answers with bytes of the test's own, below HTTP, and then closes the connection.
func raw(t *testing.T, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte(text))
		_ = conn.Close()
	}
}

// What goes wrong is one clear line, and no data.
func TestHostile(t *testing.T) {
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, "5.6.7.8\n") }))
	defer elsewhere.Close()
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) }
	}
	bomb := zipped(t, make([]byte, MaxBytes+1))
	half := zipped(t, []byte(strings.Repeat("5.6.7.8\n", 1000)))
	for name, one := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"another host":       {redirect(elsewhere.URL), "redirects to another host"},
		"another name":       {redirect("https://lists.example.org/x"), `another host, "lists.example.org"`},
		"metadata":           {redirect("https://169.254.169.254/latest/meta-data/"), "redirects to another host"},
		"to http":            {func(w http.ResponseWriter, r *http.Request) { redirect("http://"+r.Host+"/")(w, r) }, `redirects from https to "http"`},
		"to a file":          {redirect("file:///etc/passwd"), `redirects from https to "file"`},
		"with a password":    {func(w http.ResponseWriter, r *http.Request) { redirect("https://a:b@"+r.Host+"/")(w, r) }, "a URL with a password"},
		"round and round":    {redirect("/again"), "redirects more than 5 times"},
		"busy":               {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "90"); w.WriteHeader(429) }, "answered 429 Too Many Requests, and wants to be asked again in 1m30s"},
		"gone":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, "answered 410 Gone"},
		"a part":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(206); write(w, "5.6.7.8\n") }, "answered 206"},
		"unchanged, unasked": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, "answered 304"},
		"bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}, "larger than 32 MiB"},
		"says it is too long": {raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n5.6.7.8\n"), "larger than 32 MiB"},
		"half by length":      {raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n5.6.7.8\n"), "cut off"},
		"half of the chunks":  {raw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n5.6.7.8\n\r\n"), "cut off"},
		"half of a chunk":     {raw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n5.6.7.8\n"), "cut off"},
		"half of gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(half[:len(half)-9])
		}, "cut off"},
		"gzip, damaged": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(append(bytes.Clone(half[:len(half)-5]), 0, 0, 0, 0, 0))
		}, "gzip: invalid checksum"},
		"no gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			write(w, "5.6.7.8\n")
		}, "cut off"},
		"another encoding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			write(w, "x")
		}, "the encoding"},
		"no length":            {raw(t, "HTTP/1.0 200 OK\r\n\r\n5.6.7.8\n"), "does not say how long"},
		"no length, close":     {raw(t, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n5.6.7.8\n"), "does not say how long"},
		"no HTTP":              {raw(t, "SSH-2.0-x\x1b[31m\r\n"), "malformed HTTP"},
		"a head without end":   {raw(t, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: y\r\n", 30_000)), "exceeded"},
		"an end before a head": {raw(t, ""), "it closed the connection before it answered"},
	} {
		f := serve(t, "/list?key=s3cret", one.answer)
		got, err := get(t, f, Marks{})
		if err == nil || !strings.Contains(err.Error(), one.want) || got.Data != nil {
			t.Errorf("%s: %v, %d bytes, want %q", name, err, len(got.Data), one.want)
		} else if strings.Contains(err.Error(), "s3cret") || strings.ContainsRune(err.Error(), '\x1b') || len(err.Error()) > 300 {
			t.Errorf("%s: the error shows too much: %v", name, err)
		}
		if busy := new(Busy); name == "busy" && (!errors.As(err, &busy) || busy.For != 90*time.Second) {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

// A server that hangs before its head, in its body, or drips, is left.
func TestSlow(t *testing.T) {
	for name, one := range map[string]struct {
		answer func(w http.ResponseWriter, until <-chan struct{})
		want   string
	}{
		"no head": {func(_ http.ResponseWriter, until <-chan struct{}) { <-until }, "timeout awaiting response headers"},
		"no body": {func(w http.ResponseWriter, until <-chan struct{}) {
			w.Header().Set("Content-Length", "8")
			_ = http.NewResponseController(w).Flush()
			<-until
		}, "less than 1024 bytes"},
		"drip": {func(w http.ResponseWriter, until <-chan struct{}) {
			for {
				select {
				case <-until:
					return
				case <-time.After(10 * time.Millisecond):
					write(w, "5")
					_ = http.NewResponseController(w).Flush()
				}
			}
		}, "less than 1024 bytes"},
	} {
		f := serve(t, "/", func(w http.ResponseWriter, r *http.Request) { one.answer(w, r.Context().Done()) })
		f.longest, f.stall = time.Second, 300*time.Millisecond
		if _, err := get(t, f, Marks{}); err == nil || !strings.Contains(err.Error(), one.want) && !strings.Contains(err.Error(), "took longer than 1s") {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := serve(t, "/", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.FetchList(ctx, Marks{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a node that ends: %v", err)
	}
}

// A name that leads to this host, and a server that nobody vouches for.
func TestNotTrusted(t *testing.T) {
	f := serve(t, "/", func(w http.ResponseWriter, _ *http.Request) { write(w, "5.6.7.8\n") })
	_, port, err := net.SplitHostPort(f.url.Host)
	if err != nil {
		t.Fatal(err)
	}
	f.url.Host = "localhost:" + port
	if _, err := get(t, f, Marks{}); err == nil || !strings.Contains(err.Error(), "not an address on the internet: set private: true") {
		t.Errorf("a name for loopback: %v", err)
	}
	f.settings.Private = true
	if _, err := get(t, f, Marks{}); err == nil || !strings.Contains(err.Error(), "it has a certificate for another name") {
		t.Errorf("another's certificate: %v", err)
	}
	f.url.Host, f.settings.CAFile = "127.0.0.1:"+port, ""
	if _, err := get(t, f, Marks{}); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a certificate of its own: %v", err)
	}
	f.settings.CAFile = os.DevNull
	if _, err := get(t, f, Marks{}); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("no certificates: %v", err)
	}
}

// Where a connection may lead, by what the operator wrote.
func TestAdmits(t *testing.T) {
	for _, one := range []struct {
		url     string
		private bool
		no, yes string
	}{
		{"https://lists.example.org/", false, "127.0.0.1 10.0.0.1 169.254.169.254 100.100.100.200 ::1 fd00::1 fe80::1 fd00:ec2::254 64:ff9b::7f00:1 2002:7f00:1::1 224.0.0.1 0.0.0.0", "8.8.8.8 2a02:6b8::1"},
		{"https://lists.example.org/", true, "169.254.169.254 fe80::1 fd00:ec2::254 fd00:ec2::253 fd20:ce::254 fd00:42::42 100.100.100.200 168.63.129.16 192.0.0.192 64:ff9b::7f00:1 2002:7f00:1::1 224.0.0.1 0.0.0.0", "8.8.8.8 10.0.0.1 127.0.0.1 100.64.0.1 fd00::1"},
		{"https://10.0.0.1/", false, "10.0.0.2 127.0.0.1", "10.0.0.1 ::ffff:10.0.0.1"},
		{"https://[fd00::1]:8443/", false, "fd00::2", "fd00::1"},
		{"http://127.0.0.1/", false, "127.0.0.2.x 8.8.8.8", "127.0.0.1"},
		{"http://localhost/", true, "8.8.8.8 10.0.0.1", "127.0.0.1 ::1"},
	} {
		f, err := NewFetcher(FetchSettings{URL: one.url, Private: one.private})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range strings.Fields(one.no) {
			if err := f.control(t.Context(), "tcp", net.JoinHostPort(text, "443"), nil); err == nil {
				t.Errorf("%s, private %v, connects to %s", one.url, one.private, text)
			}
		}
		for _, text := range strings.Fields(one.yes) {
			if err := f.control(t.Context(), "tcp", netip.AddrPortFrom(netip.MustParseAddr(text), 443).String(), nil); err != nil {
				t.Errorf("%s: %v", one.url, err)
			}
		}
	}
}

// What a server repeats of the secrets that it was sent is not shown.
func TestHide(t *testing.T) {
	file := filepath.Join(t.TempDir(), "header")
	if err := os.WriteFile(file, []byte("Authorization: Bearer 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &FetchSettings{URL: "https://lists.example.org/a/f00dfeed42/drop.txt?key=sekret%2Fdata&x=1", HeaderFile: file}
	for text, want := range map[string]string{
		"unknown token 0123456789abcdef": "unknown token …", "no Bearer 0123456789abcdef here": "no … here",
		"GET /a/f00dfeed42/drop.txt?key=sekret%2Fdata&x=1": "GET /…", "user f00dfeed42": "user …", "key sekret/data": "key …", "5.6.7.8 # Bearer": "5.6.7.8 # Bearer",
	} {
		if got, found := s.HideSecrets([]byte(text)); string(got) != want || found != (text != want) {
			t.Errorf("%q: %q, %t; want %q", text, got, found, want)
		}
	}
}

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://lists.example.org/drop.txt?x=1": "", "https://127.0.0.1:8443/": "", "http://127.0.0.1/": "", "http://[::1]:80/x": "", "http://localhost/": "",
		"http://lists.example.org/": "is http", "http://10.0.0.1/": "is http", "http://localhost.example.org/": "is http", "ftp://x/": "is not a URL of https",
		"https://a:b@x/": "contains a user", "https://token@x/": "contains a user", "https:///x": "has no host", "https://x/#y": "has a #", "x": "is not a URL", "https:x": "is not a URL",
		"https://x:99999/": "has a port", "https://x:y/": "is not a URL", "https://%zz/": "is not a URL", "/etc/list": "is not a URL",
	} {
		u, wrong, fix := ParseURL(text)
		if want == "" && (u == nil || wrong != "") || want != "" && (!strings.HasPrefix(wrong, want) || fix == "") {
			t.Errorf("%s: %q, %q", text, wrong, fix)
		}
	}
	if _, err := NewFetcher(FetchSettings{URL: "http://x/"}); err == nil {
		t.Error("http is fetched")
	}
}

func TestMark(t *testing.T) {
	for text, want := range map[string]string{`W/"x"`: `W/"x"`, "\x1b": "", strings.Repeat("x", 257): "", "é": ""} {
		if got := mark(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	f := &File{Path: path}
	if _, err := f.Read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	for i, text := range []string{"5.6.7.8\n", "9.9.9.9\n5.6.7.8\n", ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Read(); err != nil || got.Same || string(got.Data) != text {
			t.Fatalf("%d: %+v, %v", i, got, err)
		}
		if got, err := f.Read(); err != nil || !got.Same {
			t.Fatalf("%d again: %+v, %v", i, got, err)
		}
	}
	f.Forget()
	if got, err := f.Read(); err != nil || got.Same {
		t.Errorf("after Forget: %+v, %v", got, err)
	}
	if err := os.Truncate(path, MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), "is larger than "+fmt.Sprint(MaxBytes)) {
		t.Errorf("too large: %v", err)
	}
	if _, err := (&File{Path: filepath.Dir(path)}).Read(); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a folder: %v", err)
	}
}
