package outbound

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "-1": 0, "x": 0, "99999999999999999999": 0, now.Add(time.Hour).Format(http.TimeFormat): time.Hour, now.Add(-time.Hour).Format(http.TimeFormat): 0,
		"2147483647": 2 * time.Hour, "Fri, 31 Dec 9999 23:59:59 GMT": 2 * time.Hour, "Thu, 01 Jan 1970 00:00:00 GMT": 0, "Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "1.5": 0, "+7": 0, "\x1b": 0,
	} {
		if got := RetryAfter(&http.Response{Header: http.Header{"Retry-After": {text}}}, now, 2*time.Hour); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Whatever another writes is one line in bounds, and no character of it is cut in half.
func FuzzShown(f *testing.F) {
	f.Add("a\x1b[31m\nb\u202ec")
	f.Add("x" + strings.Repeat("é", 500))
	f.Add(strings.Repeat(" ", 799) + "é")
	f.Fuzz(func(t *testing.T, text string) {
		got := Shown(text)
		if !utf8.ValidString(got) || len(got) > mostShown+len("…") || strings.ContainsAny(got, "\n\x1b\u202e") || utf8.ValidString(text) && !strings.ContainsRune(text, utf8.RuneError) && strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%q", got)
		}
	})
}

// What is shorter than a secret is a word that any text may have.
func TestHide(t *testing.T) {
	if got := Hide("the token T0KEN! is not key", "T0KEN!", "key", ""); got != "the token … is not key" {
		t.Errorf("%q", got)
	}
}

// A bundle may be as large as a system's. What is not a file is not waited for.
func TestRoots(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	folder := t.TempDir()
	write := func(name string, before int) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, append([]byte(strings.Repeat("#\n", before/2)), certificate...), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if roots, err := Roots(""); roots != nil || err != nil {
		t.Errorf("none: %v, %v", roots, err)
	}
	if roots, err := Roots(write("bundle", 900<<10)); err != nil || roots == nil {
		t.Errorf("a bundle: %v", err)
	}
	for file, want := range map[string]string{
		write("large", 2*mostCA): "is larger than 1048576 bytes", os.DevNull: "is not a file", folder: "is not a file", filepath.Join(folder, "none"): "no such file",
	} {
		if roots, err := Roots(file); roots != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// A server that does not end its head is left after a time, also without an end of the call's.
func TestHeadFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: y\r\n")
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}))
	defer server.Close()
	transport := new(http.Transport)
	c := Client(transport, nil)
	defer c.CloseIdleConnections()
	if transport.ResponseHeaderTimeout != headFor || transport.MaxResponseHeaderBytes != mostHead || transport.TLSClientConfig.MinVersion != tls.VersionTLS12 {
		t.Errorf("%+v", transport)
	}
	transport.ResponseHeaderTimeout = time.Millisecond
	if answer, err := c.Get(server.URL); err == nil {
		_ = answer.Body.Close()
		t.Error("half a head is taken")
	} else if got := Why("", err).Error(); got != "it did not answer in time" {
		t.Error(got)
	}
}
