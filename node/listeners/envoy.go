package listeners

import (
	"crypto/tls"
	"net"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/internal/certfiles"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/envoy"
)

// Envoy returns the listeners for the Envoys that ask by gRPC.
func (a *Asked) Envoy(c *config.Config) (all []*Service[envoy.Server]) {
	for _, l := range c.Listen.Envoy {
		address := l.Address.String()
		at := askedAt{a, "listen.envoy", "Envoy", "envoy", address, alarm.EnvoyFull, l.Connections, l.Count}
		start := func(open func() (net.Listener, error)) (*envoy.Server, net.Listener, error) {
			settings, err := at.envoySettings(&l)
			if err != nil {
				return nil, nil, err
			}
			server, err := envoy.New(settings)
			if err != nil {
				return nil, nil, err
			}
			nl, err := open()
			return server, nl, err
		}
		all = append(all, service(at, unixsocket.Access(l.Access), l, start, func(s *envoy.Server) figures {
			f := s.Stats()
			return figures{f.Events(), f.Passed, f.Late}
		}))
	}
	return all
}

func (at *askedAt) envoySettings(l *config.EnvoyListener) (envoy.Config, error) {
	trust, err := clientaddr.NewTrust(l.Trust, true)
	if err != nil {
		return envoy.Config{}, err
	}
	var secret *tls.Config
	if f := l.TLS; f != (config.ListenerTLS{}) {
		if secret, err = (certfiles.Files{Certificate: f.CertFile, Key: f.KeyFile, ClientCA: f.ClientCAFile, Protocols: []string{"h2"}}).Config(); err != nil {
			return envoy.Config{}, err
		}
	}
	return envoy.Config{Config: at.settings(trust, l.Header, l.Fronted), Look: at.decide(false), Count: at.count, TLS: secret}, nil
}

// count returns what an event's key has counted for a rule.
func (at *askedAt) count(now time.Time, event *edgeguard.Event, rule string) (envoy.Count, bool) {
	n, limit, window, ok := at.Pipeline.Count(now, event, rule)
	return envoy.Count{Count: n, Limit: limit, Window: window}, ok
}
