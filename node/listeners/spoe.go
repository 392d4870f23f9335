package listeners

import (
	"net"

	"edgeguard/config"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/sensor/spoe"
)

// SPOE returns the listeners for the HAProxies that ask.
func (a *Asked) SPOE(c *config.Config) (all []*Service[spoe.Server]) {
	for _, l := range c.HAProxy.SPOE {
		address := l.Listen.String()
		at := askedAt{a, "haproxy.spoe", "SPOE", "spoe", address, alarm.SPOEFull, l.Connections, l.Count}
		start := func(open func() (net.Listener, error)) (*spoe.Server, net.Listener, error) {
			nl, enter, err := openDoor(&l.HAProxyDoor, open)
			if err != nil {
				return nil, nil, err
			}
			server, err := spoe.New(at.settings(nil, "", l.Proxied), enter)
			if err != nil {
				_ = nl.Close()
			}
			return server, nl, err
		}
		all = append(all, service(at, unixsocket.Access(l.Access()), l, start, func(s *spoe.Server) figures {
			f := s.Stats()
			return figures{f.Passed + f.Refused - f.NoClient, f.Passed, f.Late}
		}))
	}
	return all
}
