package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/metrics"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/pipeline"
	"edgeguard/node/sockets"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/httpauth"
	"edgeguard/sensor/refusal"
)

// drainTime is how long a node that ends waits for answers under way.
const drainTime = 2 * time.Second

// auth is one address at which proxies ask: a service.
type auth struct {
	authDeps
	config config.Auth
	key    string
	source string // its name among the sources of events
	full   checks.Full
	late   checks.Late
	// server is nil while the listener does not answer.
	server atomic.Pointer[httpauth.Server]
}

// authDeps is what forward auth uses of a node.
type authDeps struct {
	pipeline *pipeline.Pipeline
	clock    *clockguard.Clock
	latency  *metrics.Latency
	alarms   *alarm.Tracker
	sockets  *sockets.Sockets
	log      *slog.Logger
	// uncounter returns what a source calls with requests that it cannot count.
	uncounter func(source string) edgeguard.Uncounter
}

// auths returns the listeners of the config.
func (d authDeps) auths(c *config.Config) []*auth {
	var want []*auth
	for _, l := range c.Listen.Auth {
		if l.Trust == nil {
			l.Trust = c.TrustedProxies
		}
		address := l.Address.String()
		full := checks.Full{Alarms: d.alarms, Kind: alarm.AuthFull, Key: "listen.auth", Address: address, Places: l.Connections}
		want = append(want, &auth{authDeps: d, config: l, key: fmt.Sprintf("auth %+v", l), source: "auth " + address, full: full, late: checks.Late{Alarms: d.alarms, Address: address}})
	}
	return want
}

func (a *auth) Key() string             { return a.key }
func (a *auth) Alarm() (string, string) { return alarm.Listen, a.config.Address.String() }

// Report implements service. A question without a client is not an event.
func (a *auth) Report(s *admin.Stats) {
	server := a.server.Load()
	if server == nil {
		return
	}
	f := server.Stats()
	s.Sources = append(s.Sources, admin.Source{Name: a.source, Events: f.Passed + f.Refused + f.Overlong - f.Repeated - f.NoClient, Late: f.Late})
	s.Decisions = append(s.Decisions, admin.Decisions{Source: a.source, Action: "pass", Count: f.Passed})
}

// httpConfig returns the settings of the listener.
func (a *auth) httpConfig() (httpauth.Config, error) {
	trust, err := clientaddr.NewTrust(a.config.Trust, true)
	about := a.config.Address.String()
	decide := edgeguard.Decider(a.pipeline.Decide)
	if a.config.Emit == 0 {
		decide = a.pipeline.LookUp
	}
	return httpauth.Config{
		Decide: observed(a.latency, &a.pipeline.Verdicts, a.source, decide),
		Now:    a.clock.Now,
		Trust:  trust,
		Header: a.config.Header, Fronted: a.config.Fronted,
		LookUp: a.config.Emit == 0, Connections: a.config.Connections,
		Policy:    func(rule string) (refusal.Policy, bool) { return policy(a.pipeline.Current(), rule) },
		Uncounted: a.uncounter(a.source),
		Alarm: func(kind, text string) {
			a.alarms.Happened(a.clock.Now(), kind, about, "forward auth at "+about+": "+text)
		},
	}, err
}

// policy returns what a rule allows; false for a manual block.
func policy(g *pipeline.Generation, name string) (refusal.Policy, bool) {
	r, m := g.Rule(name)
	if r == nil {
		return refusal.Policy{}, false
	}
	return refusal.Policy{Quota: r.Limit, Window: m.Window}, true
}

// Run answers until ctx is done, and then waits for the answers under way.
func (a *auth) Run(ctx context.Context, ready func()) error {
	address := a.config.Address.String()
	hc, err := a.httpConfig()
	if err != nil {
		return fmt.Errorf("listen.auth %s: %w", address, err)
	}
	server, err := httpauth.New(hc)
	if err != nil {
		return err
	}
	listener, err := a.sockets.Open(address, unixsocket.Access(a.config.Access))
	if err != nil {
		return err
	}
	ready()
	a.log.Info("listening", "for", "forward auth", "at", address)
	a.server.Store(server)
	defer func() {
		a.server.Store(nil)
		a.alarms.Ends(alarm.AuthFull, address)
		a.alarms.Ends(alarm.Late, address)
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
		a.log.Warn("answers under way were cut off", "at", address, "error", err)
	}
	return <-ended
}
