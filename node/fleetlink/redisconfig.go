package fleetlink

import (
	"edgeguard/aggregator/redis"
	"edgeguard/config"
)

// RedisConfig returns the link's settings for a config with a fleet.
func RedisConfig(c *config.Config, version string) redis.Config {
	f := c.Fleet
	return redis.Config{
		Addresses: f.Redis, Cluster: f.Cluster, Sentinel: f.Sentinel,
		PasswordFile: f.PasswordFile, LoaderFile: f.LoaderFile, KeyFile: f.KeyFile, Require: f.RequireKey,
		TLS:       redis.TLS{CA: f.TLS.CAFile, Cert: f.TLS.CertFile, Key: f.TLS.KeyFile, Name: f.TLS.ServerName},
		Namespace: f.Namespace, Partitions: f.Partitions, Push: f.Push, MaxSkew: f.MaxSkew,
		Retention: c.Rules.LongestWindow(), Node: c.Node, Version: version, Monitor: c.Monitor,
	}
}
