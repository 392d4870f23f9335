package listeners

import (
	"net"

	"edgeguard/config"
	"edgeguard/haproxy"
)

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
