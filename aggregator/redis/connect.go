package redis

import (
	"context"
	"errors"
	"fmt"
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

// NewClient returns a client for a config and does not connect. The client never
// retries by itself: a push that is tried again is a new push. Each command
// obeys its context and the config's timeout, and its answer is bounded.
func NewClient(c Config) (goredis.UniversalClient, error) {
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
	if err := errors.Join(addressed(o, c), c.TLS.Apply(o)); err != nil {
		return nil, err
	}
	o.Dialer = boundedDialer(&goredis.Options{DialTimeout: c.Timeout, TLSConfig: o.TLSConfig})
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
		one, err := parseEndpoint(address)
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
