// Package certfiles reads the certificates of a listener, again for every connection.
package certfiles

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
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
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.read() },
	}, nil
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
