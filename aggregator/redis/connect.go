package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize is how many connections each Redis gets: one waits for changes, one
// each is for pushes, heartbeats and blocks, and one is spare.
const poolSize = 5

// quiet silences go-redis, which logs each connection that fails to dial:
// health reports the same once, with its fix.
var quiet = sync.OnceFunc(func() { goredis.SetLogger(&logging.VoidLogger{}) })

// Dial returns a client for a config and does not connect. The client never
// retries by itself: a push that is tried again is a new push. Each command
// obeys its context and the config's timeout.
func Dial(c Config) (goredis.UniversalClient, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	o := &goredis.UniversalOptions{
		Protocol:              2,
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           c.Timeout,
		ReadTimeout:           c.Timeout,
		WriteTimeout:          c.Timeout,
		PoolTimeout:           c.Timeout,
		ContextTimeoutEnabled: true,
		PoolSize:              poolSize,
		MasterName:            c.Sentinel,
		// These would send commands that a node's ACL had to allow, for no use.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if err := errors.Join(addressed(o, c), secured(o, c)); err != nil {
		return nil, err
	}
	quiet()
	if c.isCluster() {
		cluster := o.Cluster()
		cluster.ClusterStateReloadInterval = reload
		return goredis.NewClusterClient(cluster), nil
	}
	return goredis.NewUniversalClient(o), nil
}

// reload is how often a Cluster is asked who its masters are. go-redis asks by
// itself only when a live node answers MOVED, and otherwise each minute: a dead
// master would be dialed that long after its replica took over.
const reload = 2 * time.Second

// isCluster reports whether the addresses are a Cluster's.
func (c *Config) isCluster() bool {
	return c.Cluster || (len(c.Addresses) > 1 && c.Sentinel == "")
}

// addressed sets the addresses and the credentials.
func addressed(o *goredis.UniversalOptions, c Config) error {
	for _, address := range c.Addresses {
		one, err := parseAddress(address)
		if err != nil {
			return err
		}
		o.Addrs = append(o.Addrs, one.Addr)
		if o.TLSConfig == nil {
			o.TLSConfig = one.TLSConfig
		}
		orElse(&o.DB, one.DB)
		orElse(&o.Username, one.Username)
		orElse(&o.Password, one.Password)
	}
	if c.User != "" {
		o.Username = c.User
	}
	if c.Password != "" {
		o.Password = c.Password
	}
	if c.PasswordFile != "" {
		user := o.Username
		o.CredentialsProviderContext = func(context.Context) (string, string, error) {
			password, err := readPassword(c.PasswordFile)
			return user, password, err
		}
	}
	if c.isCluster() && o.DB != 0 {
		return fmt.Errorf("fleet.redis: a Cluster has database 0 only, not %d", o.DB)
	}
	return nil
}

// parseAddress parses one of Config.Addresses.
func parseAddress(address string) (*goredis.Options, error) {
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

// hidePassword keeps a URL, which may contain a password, out of an error.
func hidePassword(err error, address string) error {
	return errors.New(strings.ReplaceAll(err.Error(), address, "the address"))
}

// secured sets the certificates.
func secured(o *goredis.UniversalOptions, c Config) error {
	t := c.TLS
	if o.TLSConfig == nil {
		if t.CA == "" && t.Cert == "" && !t.On {
			return nil
		}
		o.TLSConfig = &tls.Config{}
	}
	o.TLSConfig.MinVersion = tls.VersionTLS12
	o.TLSConfig.ServerName = t.Name
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return fmt.Errorf("fleet.tls.ca: %w", err)
		}
		o.TLSConfig.RootCAs = x509.NewCertPool()
		if !o.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("fleet.tls.ca: %s contains no PEM certificate", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return fmt.Errorf("fleet.tls.cert: %w", err)
		}
		o.TLSConfig.Certificates = []tls.Certificate{pair}
	}
	return nil
}
