package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/outbound"
)

// TLS is how the connection is secured, beside what a rediss:// URL says.
type TLS struct {
	// On secures addresses that are not URLs.
	On bool
	// CA is a file of PEM certificates to trust instead of the system's.
	CA string
	// Cert and Key are the files of this node's own certificate.
	Cert, Key string
	// Name is the server name to expect; "" means the address's host.
	Name string
}

// Apply sets the certificates in o.
func (t TLS) Apply(o *goredis.UniversalOptions) error {
	if o.TLSConfig == nil {
		if t.CA == "" && t.Cert == "" && !t.On {
			return nil
		}
		o.TLSConfig = &tls.Config{}
	}
	o.TLSConfig.MinVersion = tls.VersionTLS12
	o.TLSConfig.ServerName = t.Name
	roots, err := outbound.Roots(t.CA)
	if err != nil {
		return fmt.Errorf("fleet.tls.ca: %w", err)
	}
	o.TLSConfig.RootCAs = roots
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return fmt.Errorf("fleet.tls.cert: %w", err)
		}
		o.TLSConfig.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// parseEndpoint returns the options of an address: HOST:PORT, a path or a URL. Its errors
// contain no password.
func parseEndpoint(address string) (*goredis.Options, error) {
	if strings.Contains(address, "://") {
		// A URL's own options (timeouts, retries) are ignored: the link depends
		// on its own.
		o, err := goredis.ParseURL(address)
		if err != nil {
			return nil, fmt.Errorf("fleet.redis: %w: use redis://USER@HOST:PORT/DB, rediss:// or unix:///PATH", hidePassword(err, address))
		}
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // each address of several has its own
		}
		return o, nil
	}
	if strings.HasPrefix(address, "/") {
		return &goredis.Options{Addr: address}, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("fleet.redis: %w: use HOST:PORT or a URL", err)
	}
	return &goredis.Options{Addr: address}, nil
}

// readPassword reads the password in a file, without the space around it.
func readPassword(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("fleet.password_file: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// hidePassword keeps a URL, which may contain a password, out of an error.
func hidePassword(err error, address string) error {
	return errors.New(strings.ReplaceAll(err.Error(), address, "the address"))
}
