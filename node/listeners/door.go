package listeners

import (
	"net"

	"edgeguard/config"
	"edgeguard/haproxy"
	"edgeguard/internal/unixsocket"
)

// HAProxyAccess returns who may open the sockets of HAProxy's listeners. The listener itself
// then admits the one user of its config.
func HAProxyAccess(c *config.HAProxy) map[string]unixsocket.Access {
	all := map[string]unixsocket.Access{}
	for _, l := range c.Peers {
		all[l.Listen.String()] = doorAccess(&l.HAProxyDoor)
	}
	for _, l := range c.SPOE {
		all[l.Listen.String()] = doorAccess(&l.HAProxyDoor)
	}
	return all
}

func doorAccess(d *config.HAProxyDoor) unixsocket.Access {
	if !d.Listen.Unix() {
		return unixsocket.Access{}
	}
	return unixsocket.Access{Mode: 0o600}
}

// openDoor opens a listener for HAProxy, and returns how its connections enter.
func openDoor(d *config.HAProxyDoor, open func() (net.Listener, error)) (net.Listener, haproxy.Enter, error) {
	nl, err := open()
	if err != nil {
		return nil, nil, err
	}
	door := haproxy.Door{User: d.User, TLS: haproxy.TLS{Certificate: d.TLS.CertFile, Key: d.TLS.KeyFile, ClientCA: d.TLS.ClientCAFile}}
	enter, err := door.Open(nl)
	if err != nil {
		_ = nl.Close()
	}
	return nl, enter, err
}
