package listeners

import (
	"net"

	"edgeguard/config"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/httpauth"
)

// Auth returns the listeners for forward auth.
func (a *Asked) Auth(c *config.Config) (all []*Service[httpauth.Server]) {
	for _, l := range c.Listen.Auth {
		address := l.Address.String()
		at := askedAt{a, "listen.auth", "forward auth", "auth", address, alarm.AuthFull, l.Connections, l.Emit != 0}
		start := func(open func() (net.Listener, error)) (*httpauth.Server, net.Listener, error) {
			trust, err := clientaddr.NewTrust(l.Trust, true)
			if err != nil {
				return nil, nil, err
			}
			server, err := httpauth.New(at.settings(trust, l.Header, l.Fronted))
			if err != nil {
				return nil, nil, err
			}
			nl, err := open()
			return server, nl, err
		}
		all = append(all, service(at, unixsocket.Access(l.Access), l, start, func(s *httpauth.Server) figures {
			f := s.Stats()
			return figures{f.Passed + f.Refused + f.Overlong - f.Repeated - f.NoClient, f.Passed, f.Late}
		}))
	}
	return all
}
