package listeners

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/internal/certfiles"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/pipeline"
	"edgeguard/node/sockets"
	"edgeguard/node/supervisor"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/envoy"
	"edgeguard/sensor/refusal"
)

// The service of the Envoys that ask a node by gRPC about each request while it waits.

// drainTime is how long a node that ends waits for answers under way.
const drainTime = 2 * time.Second

// EnvoyDeps is what the service uses of a node.
type EnvoyDeps struct {
	Pipeline *pipeline.Pipeline
	Clock    *clockguard.Clock
	Sockets  *sockets.Sockets
	Log      *slog.Logger
	// Observe returns a decider that counts the verdicts of a source and measures it.
	Observe func(source string, decide edgeguard.Decider) edgeguard.Decider
	// Uncounter returns what a source calls with requests that it cannot count.
	Uncounter func(source string) edgeguard.Uncounter
	// Policy returns what a rule allows; false for a manual block.
	Policy func(rule string) (refusal.Policy, bool)
}

// EnvoyServices is the listeners of a node at which Envoys ask.
type EnvoyServices struct {
	supervisor.Group[*EnvoyService]
	EnvoyDeps
}

// Settle makes the listeners that run those of a config.
func (g *EnvoyServices) Settle(ctx context.Context, c *config.Config) {
	var want []*EnvoyService
	for _, one := range c.Listen.Envoy {
		address := one.Address.String()
		want = append(want, &EnvoyService{
			EnvoyDeps: g.EnvoyDeps, alarms: g.Alarms, config: one, address: address, source: "envoy " + address, key: fmt.Sprintf("envoy %+v", one),
			full: checks.Full{Alarms: g.Alarms, Kind: alarm.EnvoyFull, Key: "listen.envoy", Address: address, Places: one.Connections},
			late: checks.Late{Alarms: g.Alarms, Address: address},
		})
	}
	g.Group.Settle(ctx, want)
}

// CheckFull raises the alarm about listeners that are full.
func (g *EnvoyServices) CheckFull(now time.Time) {
	for _, l := range g.All() {
		if server := l.server.Load(); server != nil {
			l.full.Check(now, server.Connections())
			l.late.Check(now, server.Stats().Late)
		}
	}
}

// CheckEnvoy returns the mistakes of a listener that package config cannot find. It opens nothing.
func CheckEnvoy(l *config.EnvoyListener) error {
	trust, err := clientaddr.NewTrust(l.Trust, true)
	if err == nil {
		_, err = clientaddr.NewFinder(trust, l.Header)
	}
	return err
}

// EnvoyService is one listener: a supervisor.service.
type EnvoyService struct {
	EnvoyDeps
	alarms               *alarm.Tracker
	config               config.EnvoyListener
	key, address, source string
	full                 checks.Full
	late                 checks.Late
	// server is nil while the listener does not answer.
	server atomic.Pointer[envoy.Server]
}

// Key implements supervisor.service.
func (l *EnvoyService) Key() string { return l.key }

// Alarm implements supervisor.service.
func (l *EnvoyService) Alarm() (kind, about string) { return alarm.Listen, l.address }

// Report implements supervisor.service. A question without a client is not an event.
func (l *EnvoyService) Report(to *admin.Stats) {
	server := l.server.Load()
	if server == nil {
		return
	}
	s := server.Stats()
	to.Sources = append(to.Sources, admin.Source{Name: l.source, Events: s.Events(), Late: s.Late})
	to.Decisions = append(to.Decisions, admin.Decisions{Source: l.source, Action: "pass", Count: s.Passed})
}

// settings returns those of the server.
func (l *EnvoyService) settings() (envoy.Config, error) {
	trust, err := clientaddr.NewTrust(l.config.Trust, true)
	if err != nil {
		return envoy.Config{}, err
	}
	var secret *tls.Config
	if f := l.config.TLS; f != (config.EnvoyFiles{}) {
		if secret, err = (certfiles.Files{Certificate: f.CertFile, Key: f.KeyFile, ClientCA: f.ClientCAFile, Protocols: []string{"h2"}}).Config(); err != nil {
			return envoy.Config{}, err
		}
	}
	decide, look := edgeguard.Decider(l.Pipeline.Decide), l.Observe(l.source, l.Pipeline.LookUp)
	if !l.config.Count {
		decide = l.Pipeline.LookUp
	}
	return envoy.Config{
		Decide: l.Observe(l.source, decide), Look: look, Count: l.count, Policy: l.Policy, Now: l.Clock.Now,
		Trust: trust, Header: l.config.Header, Fronted: l.config.Fronted, LookUp: !l.config.Count,
		Uncounted: l.Uncounter(l.source), TLS: secret, Connections: l.config.Connections,
		Alarm: func(kind, text string) {
			l.alarms.Happened(l.Clock.Now(), kind, l.address, "Envoy at "+l.address+": "+text)
		},
	}, nil
}

// count returns what an event's key has counted for a rule.
func (l *EnvoyService) count(now time.Time, event *edgeguard.Event, rule string) (envoy.Count, bool) {
	n, limit, window, ok := l.Pipeline.Count(now, event, rule)
	return envoy.Count{Count: n, Limit: limit, Window: window}, ok
}

// Run answers until ctx is done, and then waits for the answers under way.
func (l *EnvoyService) Run(ctx context.Context, ready func()) error {
	settings, err := l.settings()
	if err != nil {
		return fmt.Errorf("listen.envoy %s: %w", l.address, err)
	}
	server, err := envoy.New(settings)
	if err != nil {
		return err
	}
	listener, err := l.Sockets.Open(l.address, unixsocket.Access(l.config.Access))
	if err != nil {
		return err
	}
	ready()
	l.Log.Info("listening", "for", "Envoy", "at", l.address)
	l.server.Store(server)
	defer func() {
		l.server.Store(nil)
		l.alarms.Ends(alarm.EnvoyFull, l.address)
		l.alarms.Ends(alarm.Late, l.address)
	}()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		l.Log.Warn("answers under way were cut off", "at", l.address, "error", err)
	}
	return <-ended
}
