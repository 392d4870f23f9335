package listeners

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/haproxy"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/pipeline"
	"edgeguard/node/sockets"
	"edgeguard/node/supervisor"
	"edgeguard/sensor/spoe"
)

// The service of the HAProxies that ask a node about each request while it waits.

// SPOEDeps is what the service uses of a node.
type SPOEDeps struct {
	Pipeline *pipeline.Pipeline
	Clock    *clockguard.Clock
	Sockets  *sockets.Sockets
	Log      *slog.Logger
	// Observe returns a decider that counts the verdicts of a source and measures it.
	Observe func(source string, decide edgeguard.Decider) edgeguard.Decider
	// Uncounter returns what a source calls with requests that it cannot count.
	Uncounter func(source string) edgeguard.Uncounter
}

// SPOEServices is the listeners of a node at which HAProxies ask.
type SPOEServices struct {
	supervisor.Group[*SPOEService]
	SPOEDeps
}

// Settle makes the listeners that run those of a config.
func (g *SPOEServices) Settle(ctx context.Context, c *config.Config) {
	var want []*SPOEService
	for _, one := range c.HAProxy.SPOE {
		address := one.Listen.String()
		want = append(want, &SPOEService{
			SPOEDeps: g.SPOEDeps, alarms: g.Alarms, config: one, address: address, source: "spoe " + address, key: fmt.Sprintf("spoe %+v", one),
			full: checks.Full{Alarms: g.Alarms, Kind: alarm.SPOEFull, Key: "haproxy.spoe", Address: address, Places: one.Connections},
			late: checks.Late{Alarms: g.Alarms, Address: address},
		})
	}
	g.Group.Settle(ctx, want)
}

// CheckFull raises the alarm about listeners that are full.
func (g *SPOEServices) CheckFull(now time.Time) {
	for _, l := range g.All() {
		if server := l.server.Load(); server != nil {
			l.full.Check(now, server.Connections())
			l.late.Check(now, server.Stats().Late)
		}
	}
}

// SPOEAccess returns who may open the sockets of the listeners, for [sockets.Sockets]. The
// listener itself then admits the one user of its config.
func SPOEAccess(s *config.HAProxy) map[string]unixsocket.Access {
	all := map[string]unixsocket.Access{}
	for _, one := range s.SPOE {
		all[one.Listen.String()] = mode(&one)
	}
	return all
}

func mode(one *config.HAProxySPOE) unixsocket.Access {
	if !one.Listen.Unix() {
		return unixsocket.Access{}
	}
	return unixsocket.Access{Mode: 0o600}
}

// SPOEService is one listener: a supervisor.service.
type SPOEService struct {
	SPOEDeps
	alarms               *alarm.Tracker
	config               config.HAProxySPOE
	key, address, source string
	full                 checks.Full
	late                 checks.Late
	// server is nil while the listener does not answer.
	server atomic.Pointer[spoe.Server]
}

// Key implements supervisor.service.
func (l *SPOEService) Key() string { return l.key }

// Alarm implements supervisor.service.
func (l *SPOEService) Alarm() (kind, about string) { return alarm.Listen, l.address }

// Report implements supervisor.service. A question without a client is not an event.
func (l *SPOEService) Report(to *admin.Stats) {
	server := l.server.Load()
	if server == nil {
		return
	}
	s := server.Stats()
	to.Sources = append(to.Sources, admin.Source{Name: l.source, Events: s.Passed + s.Refused - s.NoClient, Late: s.Late})
	to.Decisions = append(to.Decisions, admin.Decisions{Source: l.source, Action: "pass", Count: s.Passed})
}

// settings returns those of the server.
func (l *SPOEService) settings(enter haproxy.Enter) spoe.Config {
	decide := edgeguard.Decider(l.Pipeline.Decide)
	if !l.config.Count {
		decide = l.Pipeline.LookUp
	}
	return spoe.Config{
		Decide: l.Observe(l.source, decide), Admit: enter, Now: l.Clock.Now,
		Fronted: l.config.Proxied, LookUp: !l.config.Count, Connections: l.config.Connections,
		Uncounted: l.Uncounter(l.source),
		Alarm: func(kind, text string) {
			l.alarms.Happened(l.Clock.Now(), kind, l.address, "SPOE at "+l.address+": "+text)
		},
	}
}

// open opens the listener and says who may speak there.
func (l *SPOEService) open() (*spoe.Server, func() error, error) {
	nl, err := l.Sockets.Open(l.address, mode(&l.config))
	if err != nil {
		return nil, nil, err
	}
	t := l.config.TLS
	door := haproxy.Door{User: l.config.User, TLS: haproxy.TLS{Certificate: t.CertFile, Key: t.KeyFile, ClientCA: t.ClientCAFile}}
	enter, err := door.Open(nl)
	if err != nil {
		_ = nl.Close()
		return nil, nil, fmt.Errorf("haproxy.spoe %s: %w", l.address, err)
	}
	server, err := spoe.New(l.settings(enter))
	if err != nil {
		_ = nl.Close()
		return nil, nil, err
	}
	return server, func() error { return server.Serve(nl) }, nil
}

// Run answers until ctx is done, and then waits for the answers under way.
func (l *SPOEService) Run(ctx context.Context, ready func()) error {
	server, serve, err := l.open()
	if err != nil {
		return err
	}
	ready()
	l.Log.Info("listening", "for", "SPOE", "at", l.address)
	l.server.Store(server)
	defer func() {
		l.server.Store(nil)
		l.alarms.Ends(alarm.SPOEFull, l.address)
		l.alarms.Ends(alarm.Late, l.address)
	}()
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
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
