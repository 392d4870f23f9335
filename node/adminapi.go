package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/console"
	"edgeguard/admin/metrics"
	"edgeguard/admin/openapi"
	"edgeguard/admin/server"
	"edgeguard/admin/watch"
	"edgeguard/config"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/pipeline"
	"edgeguard/node/sockets"
	"edgeguard/node/status"
	"edgeguard/node/supervisor"
)

// adminAPI is what operators and programs use of a node.
type adminAPI struct {
	adminDeps
	rates     watch.Rates
	listeners supervisor.Group[*adminListener]
}

// adminDeps is what an admin listener uses of a node.
type adminDeps struct {
	status   *status.Status
	view     *admin.View
	operator *operator
	events   *admin.Events
	latency  *metrics.Latency
	sockets  *sockets.Sockets
	alarms   *alarm.Tracker
	log      *slog.Logger
	logins   *access.Logins
	touch    func() // has the state saved soon
}

// adminListener is one address at which the admin API answers: a service.
type adminListener struct {
	adminDeps
	config  config.Admin
	address string
	full    checks.Full
	server  atomic.Pointer[server.Server]
}

// settle makes the listeners that run those of the config.
func (a *adminAPI) settle(ctx context.Context, c *config.Config) {
	var want []*adminListener
	a.logins.SetPages(c.Listen.Pages())
	for _, l := range c.Listen.Admin {
		address := l.Address.String()
		full := checks.Full{Alarms: a.alarms, Kind: alarm.AdminFull, Key: "listen.admin", Address: address, Places: l.Connections}
		want = append(want, &adminListener{adminDeps: a.adminDeps, config: l, address: address, full: full})
	}
	a.listeners.Settle(ctx, want)
}

func (l *adminListener) Key() string             { return fmt.Sprintf("admin %+v", l.config) }
func (l *adminListener) Alarm() (string, string) { return alarm.Listen, l.address }
func (l *adminListener) Report(*admin.Stats)     {}

// Run answers until ctx is done.
func (l *adminListener) Run(ctx context.Context, ready func()) error {
	c := server.Config{
		View: l.view, Operator: l.operator, TokenFile: l.config.TokenFile, ReaderTokenFile: l.config.ReaderTokenFile,
		ProxyAuth: access.ProxyAuth(l.config.ProxyAuth), Connections: l.config.Connections,
		Audit: l.audit, Metrics: metrics.New(l.status, l.events, l.latency), Log: l.log, Document: openapi.Document, Logins: l.logins,
	}
	if !l.config.NoConsole {
		c.Pages = func(view *admin.View, changes *admin.Changes) map[string]http.Handler {
			return console.New(view, changes).Routes()
		}
	}
	serverHere, err := server.New(c)
	if err != nil {
		return err
	}
	listener, err := l.sockets.Open(l.address, unixsocket.Access(l.config.Access))
	if err != nil {
		return err
	}
	ready()
	l.log.Info("listening", "for", "admin", "at", l.address)
	l.server.Store(serverHere)
	defer func() {
		l.server.Store(nil)
		l.alarms.Ends(alarm.AdminFull, l.address)
	}()
	return serverHere.Serve(ctx, listener)
}

// audit logs what an operator did by hand, and has it saved.
func (l *adminListener) audit(a admin.Audit) {
	l.touch()
	l.log.Info("by hand", "who", a.Who, "user", a.User, "role", a.Role, "way", a.Way, "action", a.Action, "target", a.Target, "detail", a.Detail, "result", a.Result)
}

// readTokens has the admin listeners that stayed read their tokens again.
func (a *adminAPI) readTokens() error {
	for _, l := range a.listeners.All() {
		if serverHere := l.server.Load(); serverHere != nil {
			if err := serverHere.ReadTokens(); err != nil {
				return fmt.Errorf("the previous token of %s stays in use: %w", l.address, err)
			}
		}
	}
	return nil
}

// publish passes what was logged to the API's streams.
func (a *adminAPI) publish(e entry) {
	switch {
	case e.expired: // its record said when
	case e.block != nil:
		a.events.Block(a.status.Now(), a.status.Outward(*e.block))
	case e.alarm != nil:
		a.events.Alarm(*e.alarm)
	}
}

// state passes a change of the node's state to the API's streams.
func (a *adminAPI) state(state, text string) { a.events.State(a.status.Now(), state, text) }

// held passes to the API's streams that other records than before are held.
func (a *adminAPI) held(n int) { a.events.Held(a.status.Now(), n) }

// noteRates reads the counters that the API shows as rates.
func (a *adminAPI) noteRates(now time.Time, p *pipeline.Pipeline) {
	a.rates.Note(now, func() watch.Counters {
		all := p.Current().Detector.Stats()
		t := watch.Counters{Requests: all.Events, Denied: all.Denied, Rules: make(map[string]watch.RuleCounters)}
		p.Verdicts.Each(func(by pipeline.Ruling, n uint64) {
			if by.Action == edgeguard.ActionDeny {
				rule := t.Rules[by.Rule]
				rule.Denied += n
				t.Rules[by.Rule] = rule
			}
		})
		for by, n := range a.events.Counted().Made {
			rule := t.Rules[by.Rule]
			rule.Blocks += n
			t.Rules[by.Rule] = rule
			t.Blocks += n
			if by.Origin != admin.FromFleet {
				t.Here += n
			}
		}
		return t
	})
}

// check raises the alarm about listeners that are full.
func (a *adminAPI) check(now time.Time) {
	for _, l := range a.listeners.All() {
		if serverHere := l.server.Load(); serverHere != nil {
			l.full.Check(now, serverHere.Connections())
		}
	}
}
