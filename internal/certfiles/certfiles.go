// Package certfiles reads the certificates of a listener, again for every connection.
package certfiles

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"

	"edgeguard/internal/gate"
)

// Files are the certificates of a listener, in PEM.
type Files struct {
	Certificate, Key string // of edgeguard
	// ClientCA signs the certificates of the clients; empty: they need none.
	ClientCA string
	// Protocols is what the listener speaks, by the names of ALPN; nil for any.
	Protocols []string
}

// Config reads the files now, so that a mistake shows, and again for every connection, so that
// a renewed certificate needs no reload.
func (f Files) Config() (*tls.Config, error) {
	if _, err := f.read(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: f.Protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (c *tls.Config, err error) {
			gate.Shared.Do(func() { c, err = f.readGated() })
			return c, err
		},
	}, nil
}

// readGated returns the config of one connection. What its handshake takes most of, the
// signature, goes through the gate: strangers begin handshakes.
func (f Files) readGated() (*tls.Config, error) {
	c, err := f.read()
	if err != nil {
		return nil, err
	}
	pair := &c.Certificates[0]
	if key, ok := pair.PrivateKey.(crypto.Signer); ok {
		pair.PrivateKey = gatedKey{key}
	}
	return c, nil
}

// gatedKey is a private key that signs through the gate.
type gatedKey struct{ crypto.Signer }

// Sign implements crypto.Signer.
func (k gatedKey) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) (signature []byte, err error) {
	gate.Shared.Do(func() { signature, err = k.Signer.Sign(random, digest, opts) })
	return signature, err
}

func (f Files) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w: both must be PEM that edgeguard may read", f.Certificate, f.Key, err)
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: f.Protocols, Certificates: []tls.Certificate{pair},
		SessionTicketsDisabled: true, // a ticket would outlive a certificate that was taken back
	}
	if f.ClientCA == "" {
		return c, nil
	}
	text, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("client_ca_file: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("client_ca_file %s: it has no certificate in PEM", f.ClientCA)
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	return c, nil
}
