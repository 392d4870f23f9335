package outbound

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ask returns the error of a request, with certificates that are trusted.
func ask(t *testing.T, url string, roots *x509.CertPool) error {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.Replace(address, "wrong.example", "127.0.0.1", 1))
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := transport.RoundTrip(r)
	if err == nil {
		_ = answer.Body.Close()
		t.Fatalf("%s answers", url)
	}
	return err
}

// expired is a certificate for 127.0.0.1 that ended an hour ago.
func expired(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// The errors of real connections are said in words.
func TestWords(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(secure.Certificate())
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	certificate, ofOld := expired(t)
	old.TLS, old.Config.ErrorLog = &tls.Config{Certificates: []tls.Certificate{certificate}}, quiet
	old.StartTLS()
	defer old.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	port := secure.URL[strings.LastIndex(secure.URL, ":")+1:]
	for _, c := range []struct {
		err  error
		want string
	}{
		{ask(t, gone.URL, nil), "it refuses the connection: nothing listens there"},
		{ask(t, cut.URL, nil), "it closed the connection before it answered"},
		{&url.Error{Op: "Post", URL: cut.URL, Err: errors.New("http: server closed idle connection")}, "it closed the connection before it answered"},
		{ask(t, secure.URL, x509.NewCertPool()), "it has a certificate of an unknown authority; set ca_file"},
		{ask(t, "https://wrong.example:"+port, trusted), "it has a certificate for another name"},
		{ask(t, old.URL, ofOld), "it has a certificate that has expired, or is not valid yet, by this host's clock"},
		{ask(t, strings.Replace(plain.URL, "http:", "https:", 1), nil), "it answers without TLS; the port is another one, or url begins with http://"},
		{fmt.Errorf("dial: %w", &net.DNSError{Name: "a.example", IsNotFound: true}), "the name a.example is not found; check it, and this host's DNS"},
		{&net.DNSError{Name: "a.example", IsTimeout: true}, "the name a.example cannot be looked up: this host's DNS does not answer"},
		{fmt.Errorf("dial: %w", syscall.ENETUNREACH), "it cannot be reached: this host has no route to it"},
		{fmt.Errorf("call: %w", context.DeadlineExceeded), "it did not answer in time"},
		{errors.New("another"), ""},
	} {
		if got := words("it", c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

// A proxy that is not there is not said to be the server.
func TestProxyAway(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	proxy, err := url.Parse(gone.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := Client(&http.Transport{Proxy: http.ProxyURL(proxy)}, nil)
	defer c.CloseIdleConnections()
	for _, asked := range []string{"https://api.example/secret", "http://api.example/secret"} {
		answer, err := c.Get(asked)
		if err == nil {
			_ = answer.Body.Close()
			t.Fatal("it answers")
		}
		if got, want := Why("api.example", err).Error(), "the proxy of the environment refuses the connection: nothing listens there"; got != want {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
	}
}
