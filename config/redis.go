package config

import (
	"github.com/goccy/go-yaml/ast"

	"edgeguard/config/redisurl"
)

// redisAddress is one address of a Redis.
type redisAddress struct {
	redisurl.Server
	at node // for what is wrong with it beside others
}

// redisAddresses reads one address, or a list, which means a Cluster.
func (n node) redisAddresses() (addresses []redisAddress, isList bool) {
	_, isList = n.ast.(*ast.SequenceNode)
	n.list(func(item node) {
		if a, ok := item.redis(); ok {
			addresses = append(addresses, a)
		}
	})
	return addresses, isList
}

// redis reads the address of a Redis server.
func (n node) redis() (redisAddress, bool) {
	text, ok := n.value()
	if !ok {
		return redisAddress{}, false
	}
	a, wrong, fix := redisurl.Parse(text)
	if wrong != "" {
		n.wrong(wrong, fix)
		return redisAddress{}, false
	}
	return redisAddress{a, n}, true
}
