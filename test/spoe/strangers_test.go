package spoe

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/haproxy"
	"edgeguard/internal/program"
)

// certificate writes NAME.crt, signed by itself, NAME.key, and both as NAME.pem.
func certificate(t *testing.T, dir, name string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for end, text := range map[string][]byte{".crt": cert, ".key": key, ".pem": append(cert, key...)} {
		if err := os.WriteFile(filepath.Join(dir, name+end), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Over TCP, both sides must have the other's certificate: without it HAProxy gets no
// verdict, and its requests pass.
func TestTLS(t *testing.T) {
	for _, c := range []struct {
		name            string
		client, believe string // HAProxy's certificate, and that of the edgeguard it trusts
		refuses         bool
	}{
		{"both", "haproxy", "edgeguard", true},
		{"another HAProxy", "other", "edgeguard", false},
		{"another edgeguard", "haproxy", "other", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			for _, name := range []string{"edgeguard", "haproxy", "other"} {
				certificate(t, dir, name)
			}
			address := program.Address(t)
			file := func(name string) string { return filepath.Join(dir, name) }
			g, _ := serve(t, "tcp", address, haproxy.Door{TLS: haproxy.TLS{Certificate: file("edgeguard.crt"), Key: file("edgeguard.key"), ClientCA: file("haproxy.crt")}}, 0, nil)
			p := runProxy(t, snippets.Values{Spoe: address}, strings.NewReplacer(
				"/etc/haproxy/edgeguard-ca.crt", file(c.believe+".crt"), "/etc/haproxy/edgeguard-client.pem", file(c.client+".pem")).Replace)
			if c.refuses {
				until(t, "edgeguard refuses", func() bool { return ask(t, p, "127.0.0.5", "GET", "/").status == http.StatusTooManyRequests })
				return
			}
			until(t, "HAProxy gets no answer", func() bool { return p.serverIs("DOWN") })
			if a := ask(t, p, "127.0.0.5", "GET", "/"); a.status != http.StatusNoContent {
				t.Errorf("%+v", a)
			}
			if n, _ := g.last(); n != 0 {
				t.Errorf("%d requests were asked about", n)
			}
			if s := g.server.Stats(); s.Strangers == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Processes of another user get no verdict, and count against nobody.
func TestAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may open a socket that is another user's")
	}
	path := filepath.Join(folder(t), "spoe.sock")
	g, _ := serve(t, "unix", path, haproxy.Door{User: strconv.Itoa(41002)}, 0, nil)
	p := runProxy(t, snippets.Values{Spoe: "unix:" + path}, asItIs)
	until(t, "HAProxy gets no answer", func() bool { return p.serverIs("DOWN") })
	if a := ask(t, p, "127.0.0.5", "GET", "/"); a.status != http.StatusNoContent {
		t.Errorf("%+v", a)
	}
	until(t, "edgeguard says who it was", func() bool { return g.server.Stats().Strangers > 0 })
	if n, _ := g.last(); n != 0 {
		t.Errorf("%d requests were asked about", n)
	}
}
