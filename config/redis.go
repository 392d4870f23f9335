package config

import (
	"edgeguard/config/read"
	"edgeguard/config/redisurl"
)

// redisAddress is one address of a Redis.
type redisAddress struct {
	redisurl.Server
	at read.Node // for what is wrong with it beside others
}

// redisAddresses reads one address, or a list, which means a Cluster.
func redisAddresses(n read.Node) (addresses []redisAddress, isList bool) {
	n.List(func(item read.Node) {
		if a, ok := redis(item); ok {
			addresses = append(addresses, a)
		}
	})
	return addresses, n.IsList()
}

// redis reads the address of a Redis server.
func redis(n read.Node) (redisAddress, bool) {
	text, ok := n.Value()
	if !ok {
		return redisAddress{}, false
	}
	a, wrong, fix := redisurl.Parse(text)
	if wrong != "" {
		n.Wrong(wrong, fix)
		return redisAddress{}, false
	}
	return redisAddress{a, n}, true
}
