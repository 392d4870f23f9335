package redis

import (
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/redistest"
)

func TestConfigIsChecked(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		says   string
	}{
		{"no address", func(c *Config) { c.Addresses = nil }, "fleet.redis"},
		{"bad address", func(c *Config) { c.Addresses = []string{"redis.internal"} }, "HOST:PORT"},
		{"bad URL", func(c *Config) { c.Addresses = []string{"http://x:secret@y"} }, "use redis://"},
		{"cluster with a database", func(c *Config) { c.Addresses = []string{"redis://a:1/3", "redis://b:1/3"} }, "database 0"},
		{"namespace", func(c *Config) { c.Namespace = "a{b}" }, "fleet.namespace"},
		{"partitions", func(c *Config) { c.Partitions = 5000 }, "fleet.partitions"},
		{"push", func(c *Config) { c.Push = 1 }, "fleet.push"},
		{"retention", func(c *Config) { c.Retention = 1 }, "retention"},
		{"skew", func(c *Config) { c.MaxSkew = time.Minute }, "fleet.max_skew"},
		{"node", func(c *Config) { c.Node = "" }, "node"},
		{"boot", func(c *Config) { c.Boot = "xyz" }, "boot"},
		{"CA file", func(c *Config) { c.TLS.CA = "/nowhere" }, "fleet.tls.ca"},
		{"certificate", func(c *Config) { c.TLS.Cert = "/nowhere" }, "fleet.tls.cert"},
	} {
		c := testConfig("localhost:6379", "edge-a")
		test.change(&c)
		_, err := New(c, nil)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is in the error: %v", test.name, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	c := Config{Addresses: []string{"rediss://edge:word@redis.internal:6380/2"}, Node: "a", User: "other"}
	client, err := NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	o := client.(*goredis.Client).Options()
	if o.Addr != "redis.internal:6380" || o.DB != 2 || o.Username != "other" || o.Password != "word" || o.TLSConfig == nil {
		t.Errorf("%s %d %s %s %v", o.Addr, o.DB, o.Username, o.Password, o.TLSConfig)
	}
	if o.MaxRetries != 0 || !o.ContextTimeoutEnabled {
		t.Errorf("%d retries, contexts %v", o.MaxRetries, o.ContextTimeoutEnabled)
	}
	for _, address := range []string{"unix:///run/redis.sock", "/run/redis.sock"} {
		client, err := NewClient(Config{Addresses: []string{address}, Node: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if o := client.(*goredis.Client).Options(); o.Network != "unix" || o.Addr != "/run/redis.sock" {
			t.Errorf("%s: %s %s", address, o.Network, o.Addr)
		}
		client.Close()
	}
}

func TestTLS(t *testing.T) {
	s := redistest.Start(t, redistest.Options{TLS: true})
	install(t, s)
	join(t, "rediss://"+s.Addr, 1, func(c *Config) { c.User, c.Password, c.TLS.CA = "", "", s.CAFile() })
}
