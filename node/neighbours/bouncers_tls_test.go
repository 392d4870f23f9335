package neighbours

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
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/internal/program"
	"edgeguard/node/sockets"
)

// issuer signs certificates.
type issuer struct {
	t      *testing.T
	cert   *x509.Certificate
	secret *ecdsa.PrivateKey
	serial int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, cert: &x509.Certificate{Subject: pkix.Name{CommonName: "issuer"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}}
	i.cert, i.secret = i.issue(i.cert)
	return i
}

// issue returns a certificate for this host, and its key.
func (i *issuer) issue(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	i.t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.serial++
	template.SerialNumber, template.IPAddresses = big.NewInt(i.serial), []net.IP{net.IPv4(127, 0, 0, 1)}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	signer := i.secret
	if signer == nil { // its own
		signer = secret
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, &secret.PublicKey, signer)
	if err != nil {
		i.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		i.t.Fatal(err)
	}
	return cert, secret
}

// pair returns a certificate for a use, in PEM.
func (i *issuer) pair(use x509.ExtKeyUsage) (cert, key []byte) {
	i.t.Helper()
	c, secret := i.issue(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{use}, KeyUsage: x509.KeyUsageDigitalSignature})
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		i.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (i *issuer) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(i.cert)
	return pool
}

// listener is one with TLS that runs.
type listener struct {
	t                  *testing.T
	address, secret    string
	cert, key, issuers string // files
}

// listens runs a listener with the certificates of an issuer.
func listens(t *testing.T, by *issuer) *listener {
	t.Helper()
	folder := t.TempDir()
	l := &listener{
		t: t, address: program.Address(t),
		cert: filepath.Join(folder, "cert.pem"), key: filepath.Join(folder, "key.pem"), issuers: filepath.Join(folder, "ca.pem"),
	}
	l.renew(by.pair(x509.ExtKeyUsageServerAuth))
	l.write(l.issuers, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: by.cert.Raw}))
	s, _, _ := side(t)
	s.Sockets, s.Log = sockets.New(func(string) {}), slog.New(slog.DiscardHandler)
	c, err := config.Parse("f", fmt.Appendf(nil, "rules: []\ncrowdsec: {lapi: [{listen: %q, tls: {cert_file: %s, key_file: %s, client_ca_file: %s}}]}", l.address, l.cert, l.key, l.issuers))
	if err != nil {
		t.Fatal(err)
	}
	added, p := s.AddBouncer(admin.BouncerRequest{Name: "edge1"})
	if p != nil {
		t.Fatal(p)
	}
	l.secret = added.Key
	s.Settle(context.Background(), c)
	t.Cleanup(func() { s.Stop(); s.Sockets.Close() })
	return l
}

func (l *listener) write(name string, text []byte) {
	l.t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// renew replaces the listener's certificate as a tool does while it runs.
func (l *listener) renew(cert, key []byte) {
	l.write(l.cert, cert)
	l.write(l.key, key)
}

// pull asks as a bouncer with these certificates, on a connection of its own. It returns
// the number of the listener's certificate.
func (l *listener) pull(c *tls.Config) (serial int64, err error) {
	transport := &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}
	r, err := http.NewRequest(http.MethodGet, "https://"+l.address+"/v1/decisions/stream?startup=true", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Api-Key", l.secret)
	answer, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && string(text) != `{"new":[],"deleted":[]}` {
		err = fmt.Errorf("%s %s", answer.Status, text)
	}
	return answer.TLS.PeerCertificates[0].SerialNumber.Int64(), err
}

// TestTLS: bouncers pull over TLS with a certificate that was replaced while the listener
// runs. Without a certificate of the right issuer, by an older TLS or in plain text nobody
// is answered, and the others still are.
func TestTLS(t *testing.T) {
	by, other := newIssuer(t), newIssuer(t)
	l := listens(t, by)
	client := func(i *issuer) *tls.Config {
		pair, err := tls.X509KeyPair(i.pair(x509.ExtKeyUsageClientAuth))
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{RootCAs: by.pool(), Certificates: []tls.Certificate{pair}}
	}
	good := client(by)
	first, err := l.pull(good)
	for deadline := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		first, err = l.pull(good) // the listener starts
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*tls.Config{
		"a bouncer without a certificate":        {RootCAs: by.pool()},
		"a bouncer of another issuer":            client(other),
		"a bouncer that trusts another issuer":   {RootCAs: other.pool(), Certificates: good.Certificates},
		"a bouncer with a TLS that is too old":   {RootCAs: by.pool(), Certificates: good.Certificates, MaxVersion: tls.VersionTLS11},
		"a bouncer with a server's certificate":  serverAs(t, by),
		"a bouncer that asks for another server": {RootCAs: by.pool(), Certificates: good.Certificates, ServerName: "192.0.2.1"},
	} {
		if _, err := l.pull(c); err == nil {
			t.Errorf("%s is answered", name)
		}
	}
	plain, err := http.Get("http://" + l.address + "/v1/decisions/stream")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(plain.Body)
	_ = plain.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if plain.StatusCode != http.StatusBadRequest || bytes.Contains(text, []byte(`"new"`)) {
		t.Errorf("plain text: %s %s", plain.Status, text)
	}

	l.renew(by.pair(x509.ExtKeyUsageServerAuth))
	if second, err := l.pull(good); err != nil || second == first {
		t.Errorf("after the renewal: certificate %d, before %d, %v", second, first, err)
	}
	l.write(l.issuers, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.cert.Raw}))
	if _, err := l.pull(good); err == nil {
		t.Error("an issuer that is trusted no longer is still trusted")
	}
	if _, err := l.pull(client(other)); err != nil {
		t.Error("an issuer that is trusted since:", err)
	}
}

// serverAs returns the certificate of a server as that of a bouncer.
func serverAs(t *testing.T, by *issuer) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(by.pair(x509.ExtKeyUsageServerAuth))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{RootCAs: by.pool(), Certificates: []tls.Certificate{pair}}
}

// TestTLSFiles: what is wrong with the files is said when the listener starts.
func TestTLSFiles(t *testing.T) {
	by, folder := newIssuer(t), t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert, key := by.pair(x509.ExtKeyUsageServerAuth)
	_, foreign := by.pair(x509.ExtKeyUsageServerAuth)
	good := config.ListenerTLS{CertFile: file("cert", cert), KeyFile: file("key", key)}
	if _, err := certificates(good).Config(); err != nil {
		t.Error(err)
	}
	for name, f := range map[string]config.ListenerTLS{
		"foreign": {CertFile: good.CertFile, KeyFile: file("foreign", foreign)},
		"absent":  {CertFile: filepath.Join(folder, "absent"), KeyFile: good.KeyFile},
		"garbage": {CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: file("garbage", []byte("none"))},
	} {
		if _, err := certificates(f).Config(); err == nil || !strings.Contains(err.Error(), filepath.Join(folder, name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
