package config

import (
	"slices"

	"edgeguard/config/yaml"
)

// Listener is what the listeners of all sections have in common.
type Listener struct {
	Key     string // of the config, such as "listen.auth[0]"
	Address yaml.Address
	Access  yaml.Access // of a unix socket
	TLS     ListenerTLS
	// Asked is how proxies ask there and wait for the answer, such as "forward auth"; empty
	// where none do.
	Asked string
	// Connections is the config's own field, so that it can be lowered; nil where it is not
	// in the config.
	Connections *int
}

// Listeners returns every listener of the config but those of logs.
func (c *Config) Listeners() (all []Listener) {
	for i := range c.Listen.Auth {
		l := &c.Listen.Auth[i]
		all = append(all, Listener{yaml.ItemPath("listen.auth", i), l.Address, l.Access, ListenerTLS{}, "forward auth", &l.Connections})
	}
	for i := range c.HAProxy.SPOE {
		l := &c.HAProxy.SPOE[i]
		all = append(all, Listener{yaml.ItemPath("haproxy.spoe", i), l.Listen, l.Access(), l.TLS, "SPOE", &l.Connections})
	}
	for i := range c.Listen.Envoy {
		l := &c.Listen.Envoy[i]
		all = append(all, Listener{yaml.ItemPath("listen.envoy", i), l.Address, l.Access, l.TLS, "Envoy", &l.Connections})
	}
	for i := range c.HAProxy.Peers {
		l := &c.HAProxy.Peers[i]
		all = append(all, Listener{yaml.ItemPath("haproxy.peers", i), l.Listen, l.Access(), l.TLS, "", nil})
	}
	for i := range c.CrowdSec.LAPI {
		l := &c.CrowdSec.LAPI[i]
		all = append(all, Listener{yaml.ItemPath("crowdsec.lapi", i), l.Listen, yaml.Access{}, l.TLS, "", &l.Connections})
	}
	for i := range c.Listen.Admin {
		l := &c.Listen.Admin[i]
		all = append(all, Listener{yaml.ItemPath("listen.admin", i), l.Address, l.Access, ListenerTLS{}, "", &l.Connections})
	}
	return all
}

// OwnListeners returns a copy of the config whose listeners can be changed.
func (c *Config) OwnListeners() *Config {
	own := *c
	own.Listen.Auth, own.Listen.Envoy, own.Listen.Admin = slices.Clone(c.Listen.Auth), slices.Clone(c.Listen.Envoy), slices.Clone(c.Listen.Admin)
	own.HAProxy.SPOE, own.CrowdSec.LAPI = slices.Clone(c.HAProxy.SPOE), slices.Clone(c.CrowdSec.LAPI)
	return &own
}
