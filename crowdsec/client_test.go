package crowdsec

import (
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lapi is a server that answers as the handler does.
func lapi(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return to(t, server.URL, "")
}

func to(t *testing.T, url, ca string) *Client {
	t.Helper()
	c, err := NewClient(ClientConfig{URL: url, CAFile: ca, Version: "1.2/3"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// values returns the decisions that a client reads.
func values(c *Client, whole bool) (added, deleted []string, err error) {
	err = c.PullDecisions(context.Background(), "k", whole, func(d *Decision) { added = append(added, d.Value) }, func(d *Decision) { deleted = append(deleted, d.Value) })
	return added, deleted, err
}

const fine = `{"new":[{"value":"192.0.2.1"}],"deleted":[{"value":"192.0.2.2"}]}`

func TestPull(t *testing.T) {
	var asked []string
	c := lapi(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header["X-Api-Key"], " ", r.UserAgent(), " ", r.Header["Accept-Encoding"]))
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, fine)
		_ = z.Close()
	})
	for _, whole := range []bool{true, false} {
		if added, deleted, err := values(c, whole); err != nil || len(added) != 1 || len(deleted) != 1 || added[0] != "192.0.2.1" {
			t.Errorf("%v %v %v", added, deleted, err)
		}
	}
	if want := []string{"GET /v1/decisions/stream?startup=true [k] edgeguard/1.2-3 [gzip]", "GET /v1/decisions/stream [k] edgeguard/1.2-3 [gzip]"}; fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("%q", asked)
	}
}

// Everything that a LAPI, or what stands in its place, can do wrong is one line that says it.
func TestWrong(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Error("the key goes elsewhere: ", r.Header) }))
	t.Cleanup(elsewhere.Close)
	text := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"a wrong key":   {text(403, `{"message":"access forbidden"}`), "it answers 403 Forbidden: access forbidden"},
		"an error":      {text(500, "\x1b]0;x\x07 <b>"+strings.Repeat("x", 9000)), "it answers 500 Internal Server Error: ?]0;x? <b>xxx"},
		"in French":     {text(500, "x"+strings.Repeat("é", 9000)), "xéé"},
		"a proxy":       {text(502, ""), "it answers 502 Bad Gateway"},
		"an error page": {text(200, "<html>Sign in to the hotel"), "its answer cannot be used: it is not the JSON of decisions: unexpected '<'"},
		"another JSON":  {text(200, `{"status":"up"}`), `its answer cannot be used: it is JSON without the lists "new" and "deleted"`},
		"half of it":    {text(200, fine[:40]), "its answer cannot be used: it ends in the middle, after 40 bytes"},
		"not all that it announced": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, fine)
		}, "its answer cannot be used: it ends in the middle"},
		"a connection that is cut": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, fine)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "its answer cannot be used: it ends in the middle"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, "set url to the LAPI itself"},
		"not HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "SSH-2.0-\x1b"+strings.Repeat("x", 3000)+"\r\n")
			_ = conn.Close()
		}, "malformed HTTP response"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := values(lapi(t, row.handler), true)
			if err == nil || !strings.Contains(err.Error(), row.want) || len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\x1b\ufffd") {
				t.Errorf("%v, want %s", err, row.want)
			}
		})
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	if _, _, err := values(to(t, closed.URL, ""), true); err == nil || !strings.Contains(err.Error(), "it refuses the connection: nothing listens there") || strings.Contains(err.Error(), "/v1/") {
		t.Error(err)
	}
}

// A LAPI that does not answer is not waited for longer than its caller does.
func TestHangs(t *testing.T) {
	asked := make(chan struct{})
	c := lapi(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"new":[`)
		_ = http.NewResponseController(w).Flush()
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if err := c.PullDecisions(ctx, "k", true, nil, nil); err == nil {
		t.Error("half of an answer is taken")
	}
	short, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := c.PullDecisions(short, "k", true, nil, nil); err == nil || err.Error() != "it did not answer in time" {
		t.Error(err)
	}
}

// foreign returns a certificate that has signed nothing else.
func foreign(t *testing.T) *x509.Certificate {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, fine) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	if _, _, err := values(to(t, server.URL, ""), true); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody: %v", err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, pemOf(server.Certificate()))
	if _, _, err := values(to(t, server.URL, ca), true); err != nil {
		t.Error(err)
	}
	write(t, ca, pemOf(foreign(t)))
	c := to(t, server.URL, ca)
	if _, _, err := values(c, true); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of somebody else: %v", err)
	}
	write(t, ca, "half of a fi")
	_, _, _ = values(c, true)
	write(t, ca, pemOf(server.Certificate()))
	_, _, _ = values(c, true) // fails, and reads the file again
	if _, _, err := values(c, true); err != nil {
		t.Errorf("the file of the CA was renewed: %v", err)
	}
	write(t, ca, "no certificate")
	if _, err := NewClient(ClientConfig{URL: server.URL, CAFile: ca}); err == nil || !strings.Contains(err.Error(), "has no certificate in PEM") {
		t.Error(err)
	}
}

// A token is used until it ends, and replaced when it is refused; a password that is refused is
// not tried again.
func TestMachine(t *testing.T) {
	var logins, alerts atomic.Int32
	var valid atomic.Pointer[string]
	handler := http.NewServeMux()
	handler.HandleFunc("POST /v1/watchers/login", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"password":"p"`) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		token := fmt.Sprintf("t%d", logins.Add(1))
		valid.Store(&token)
		w.Header().Set("Date", time.Now().Add(10*time.Hour).UTC().Format(http.TimeFormat)) // its clock is ahead
		fmt.Fprintf(w, `{"code":200,"expire":%q,"token":%q}`, time.Now().Add(11*time.Hour).Format(time.RFC3339), token)
	})
	handler.HandleFunc("POST /v1/alerts", func(w http.ResponseWriter, r *http.Request) {
		if want := valid.Load(); want == nil || r.Header.Get("Authorization") != "Bearer "+*want {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		alerts.Add(1)
		w.WriteHeader(http.StatusCreated)
	})
	c := lapi(t, handler.ServeHTTP)
	m := &Machine{ID: "m", Password: "p"}
	report := func(wantLogins, wantAlerts int32) {
		t.Helper()
		if err := c.Report(t.Context(), m, []byte("[]")); err != nil || logins.Load() != wantLogins || alerts.Load() != wantAlerts {
			t.Errorf("%v, %d logins, %d alerts", err, logins.Load(), alerts.Load())
		}
	}
	report(1, 1)
	report(1, 2)
	forgotten := "another"
	valid.Store(&forgotten)
	report(2, 3)
	c.ends = time.Now().Add(renewBefore / 2)
	report(3, 4)
	c.ends, m.Password = time.Time{}, "wrong"
	if err := c.Report(t.Context(), m, nil); err == nil || err.Error() != "it answers 401 Unauthorized" {
		t.Error(err)
	}
	if err := lapi(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }).Heartbeat(t.Context(), m); err == nil || !strings.Contains(err.Error(), "no token") {
		t.Error(err)
	}
}

// What a LAPI, or a proxy before it, repeats of the secrets that it refuses is not shown. How long
// it asks to be left alone is kept, within bounds.
func TestRepeatsSecrets(t *testing.T) {
	const key, token, password = "T0-KEY-0123456789", "T0-TOKEN-0123456789", "T0-PASSWORD-0123456789"
	var after string
	c := lapi(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := fmt.Sprint("no: ", r.Header["X-Api-Key"], r.Header["Authorization"], string(body))
		if r.Method == http.MethodGet && r.URL.RawQuery == "" { // a proxy that does not speak HTTP
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = fmt.Fprintf(conn, "%s\r\n", text)
			_ = conn.Close()
			return
		}
		w.Header().Set("Retry-After", after)
		w.WriteHeader(http.StatusTooManyRequests)
		said, _ := json.Marshal(map[string]string{"message": text})
		_, _ = w.Write(said)
	})
	m := &Machine{ID: "m", Password: password}
	for name, call := range map[string]func() error{
		"key":        func() error { return c.PullDecisions(t.Context(), key, true, nil, nil) },
		"not HTTP":   func() error { return c.PullDecisions(t.Context(), key, false, nil, nil) },
		"password":   func() error { c.ends = time.Time{}; return c.Heartbeat(t.Context(), m) },
		"of a token": func() error { c.token, c.ends = token, time.Now().Add(time.Hour); return c.Report(t.Context(), m, nil) },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "…") || strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "2147483647": mostWait, "Fri, 31 Dec 9999 23:59:59 GMT": mostWait,
		"Thu, 01 Jan 1970 00:00:00 GMT": 0, "-1": 0, "soon": 0, "": 0,
	} {
		after = text
		var refused *RefusedError
		if err := c.PullDecisions(t.Context(), key, true, nil, nil); !errors.As(err, &refused) || refused.After != want {
			t.Errorf("Retry-After: %s: %+v", text, refused)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
