package config

import (
	"edgeguard/config/yaml"
)

// redisAddress is one address of a Redis.
type redisAddress struct {
	yaml.RedisServer
	at yaml.Node // for what is wrong with it beside others
}

// redisAddresses reads one address, or a list, which means a Cluster.
func redisAddresses(n yaml.Node) (addresses []redisAddress, isList bool) {
	n.List(func(item yaml.Node) {
		if a, ok := redis(item); ok {
			addresses = append(addresses, a)
		}
	})
	if !n.IsList() {
		n.Once()
	}
	return addresses, n.IsList()
}

// redis reads the address of a Redis server.
func redis(n yaml.Node) (redisAddress, bool) {
	text, ok := n.Value()
	if !ok {
		return redisAddress{}, false
	}
	a, wrong, fix := yaml.ParseRedisURL(text)
	if wrong != "" {
		n.Wrong(wrong, fix)
		return redisAddress{}, false
	}
	return redisAddress{a, n}, true
}
