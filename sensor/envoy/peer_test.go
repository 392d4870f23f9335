package envoy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard"
	"edgeguard/internal/certfiles"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/inline"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A peer that is not trusted is counted as a client itself, whatever it says.
func TestStranger(t *testing.T) {
	var d desk
	s, err := New(Config{Config: inline.Config{Decide: d.decide, Trust: trust(t, "10.0.0.0/8")}, Look: d.look})
	if err != nil {
		t.Fatal(err)
	}
	c := client{&http.Client{Transport: serve(t, s, listen(t), nil)}, t, "http"}
	if status, _ := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/deny"))); status != "0" {
		t.Error(status)
	}
	if e := d.last(t); e.Addr != netip.MustParseAddr("127.0.0.1") || e.Known != 0 || e.Path != "" || e.Kind != edgeguard.KindRequest {
		t.Errorf("%+v", e)
	}
	if st := s.Stats(); st.Strangers != 1 || st.Events() != 1 {
		t.Errorf("%+v", st)
	}
}

// Where another source counts, events have no kind, and nothing is reported as uncounted.
func TestLookUp(t *testing.T) {
	var d desk
	uncounted := 0
	_, c := start(t, Config{Look: d.look, Config: inline.Config{Decide: d.decide, LookUp: true, Uncounted: func(time.Time, []edgeguard.Uncounted) { uncounted++ }}})
	c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/")))
	c.call(CheckMethod, frame(checkRequest("", "GET", "h", "/")))
	if e := d.last(t); e.Kind != 0 || e.Verified != 0 || uncounted != 0 {
		t.Errorf("%+v, %d uncounted", e, uncounted)
	}
}

// pair writes a certificate and its key, and returns the files and what trusts them.
func pair(t *testing.T, dir, name string) (cert, key string, pool *x509.CertPool, made tls.Certificate) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	bits, err := x509.MarshalECPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	certText, keyText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: bits})
	for file, text := range map[string][]byte{cert: certText, key: keyText} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certText)
	made, err = tls.X509KeyPair(certText, keyText)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pool, made
}

// Over TLS, an Envoy is trusted for its certificate, whatever its address. One without is
// turned away.
func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key, roots, _ := pair(t, dir, "envoy")
	ca, _, _, mine := pair(t, dir, "proxy")
	_, _, _, other := pair(t, dir, "other")
	var d desk
	secret, err := certfiles.Files{Certificate: cert, Key: key, ClientCA: ca, Protocols: []string{"h2"}}.Config()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Config: inline.Config{Decide: d.decide, Trust: trust(t, "10.0.0.0/8")}, Look: d.look, TLS: secret})
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	c := client{&http.Client{Transport: serve(t, s, l, &tls.Config{RootCAs: roots, ServerName: "envoy", Certificates: []tls.Certificate{mine}})}, t, "https"}
	if status, _ := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/"))); status != "0" {
		t.Error(status)
	}
	if e := d.last(t); e.Addr != netip.MustParseAddr("192.0.2.7") || e.Proxied {
		t.Errorf("%+v", e)
	}
	for name, certificates := range map[string][]tls.Certificate{"none": nil, "another's": {other}} {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "envoy", Certificates: certificates, NextProtos: []string{"h2"}})
		if err == nil {
			_, err = conn.Read(make([]byte, 1)) // of TLS 1.3, the server's refusal comes after the handshake
			conn.Close()
		}
		if err == nil {
			t.Errorf("a certificate that is %s is accepted", name)
		}
	}
}

// A peer that has no room takes the place of one that asks nothing, and never that of one
// that is being answered.
func TestFull(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	s, err := New(Config{Look: passAll, Config: inline.Config{Connections: 1, Decide: func(time.Time, *edgeguard.Event) edgeguard.Verdict {
		close(inside)
		<-goOn
		return edgeguard.Verdict{}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	c := client{&http.Client{Transport: serve(t, s, l, nil)}, t, "http"}
	idle, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	answered := make(chan string, 1)
	go func() {
		status, _ := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/")))
		answered <- status
	}()
	<-inside
	if _, err := idle.Read(make([]byte, 100)); err == nil {
		t.Error("the idle connection has its place")
	}
	late, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, err := io.Copy(io.Discard, late); err != nil {
		t.Log(err) // it was reset
	}
	close(goOn)
	if status := <-answered; status != "0" {
		t.Error(status)
	}
	if got := s.Connections(); got.Closed != 1 || got.Refused != 1 {
		t.Errorf("%+v", got)
	}
}

// pipes is a listener of connections in memory.
type pipes struct {
	come chan net.Conn
	done chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}
func (pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// What is held of calls is what has come of them, whatever lengths they claim, and nothing
// is held of one whose peer is not trusted.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		for _, one := range []struct {
			trusted bool
			held    int64
		}{{true, 20 * firstRead}, {false, 0}} {
			of, err := clientaddr.NewTrust(nil, one.trusted)
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(Config{Config: inline.Config{Decide: d.decide, Trust: of}, Look: d.look})
			if err != nil {
				t.Fatal(err)
			}
			l := pipes{make(chan net.Conn), make(chan struct{})}
			served := make(chan error, 1)
			go func() { served <- s.Serve(l) }()
			var p http.Protocols
			p.SetUnencryptedHTTP2(true)
			transport := &http.Transport{Protocols: &p, DialContext: func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				l.come <- near
				return far, nil
			}}
			ended := make(chan error)
			for range 20 {
				body, more := io.Pipe()
				defer more.Close()
				r, _ := http.NewRequest("POST", "http://envoy"+CheckMethod, body)
				r.Header.Set("Content-Type", "application/grpc")
				go func() {
					a, err := transport.RoundTrip(r)
					if err == nil {
						_, _ = io.Copy(io.Discard, a.Body)
						err = a.Body.Close()
					}
					ended <- err
				}()
				_, _ = more.Write([]byte{0, 0, 3, 0, 0}) // 192 KiB are to come
			}
			synctest.Wait()
			if held := s.read.used.Load(); held != one.held {
				t.Errorf("trusted %v: %d bytes are held", one.trusted, held)
			}
			for range 20 {
				<-ended
			}
			transport.CloseIdleConnections()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
		if len(d.events) != 20 || d.looked != 0 {
			t.Errorf("%d events, %d looks", len(d.events), d.looked)
		}
	})
}

// slow is a body that trickles in.
type slow struct{ left int }

func (s *slow) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	time.Sleep(time.Second)
	p[0] = 0
	return 1, nil
}

// A connection that says nothing is closed, and a call that trickles in is ended, while
// others on the same connection are answered.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		s, err := New(Config{Config: inline.Config{Decide: d.decide}, Look: d.look})
		if err != nil {
			t.Fatal(err)
		}
		l := pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		enter := func() net.Conn {
			near, far := net.Pipe()
			l.come <- near
			return far
		}
		begun := time.Now()
		if _, err := enter().Read(make([]byte, 1)); err == nil || time.Since(begun) != ioFor {
			t.Errorf("a silent peer: %v after %v", err, time.Since(begun))
		}
		var p http.Protocols
		p.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: &p, DialContext: func(context.Context, string, string) (net.Conn, error) { return enter(), nil }}
		c := client{&http.Client{Transport: transport}, t, "http"}
		r, _ := http.NewRequest("POST", "http://envoy"+CheckMethod, &slow{left: 60})
		r.Header.Set("Content-Type", "application/grpc")
		begun = time.Now()
		ended := make(chan time.Duration)
		go func() {
			a, err := c.Do(r)
			if err == nil {
				_, _ = io.Copy(io.Discard, a.Body)
				a.Body.Close()
			}
			ended <- time.Since(begun)
		}()
		time.Sleep(time.Second)
		if status, m := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/"))); status != "0" || !bytes.Contains(m, []byte{0x1a, 0}) {
			t.Errorf("%s %x", status, m)
		}
		if took := <-ended; took > 2*ioFor {
			t.Errorf("a slow call ended after %v", took)
		}
		transport.CloseIdleConnections()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// A drain answers what was asked, and ends.
func TestDrain(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	s, err := New(Config{Look: passAll, Config: inline.Config{Decide: func(time.Time, *edgeguard.Event) edgeguard.Verdict {
		close(inside)
		<-goOn
		return edgeguard.Verdict{}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	c := client{&http.Client{Transport: serve(t, s, listen(t), nil)}, t, "http"}
	answered := make(chan string, 1)
	go func() {
		status, _ := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/")))
		answered <- status
	}()
	<-inside
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	close(goOn)
	if status := <-answered; status != "0" {
		t.Error(status)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}
