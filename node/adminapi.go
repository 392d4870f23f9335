package node

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/console"
	"edgeguard/admin/metrics"
	"edgeguard/admin/openapi"
	"edgeguard/admin/server"
	"edgeguard/admin/watch"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/internal/lobby"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/listeners"
	"edgeguard/node/neighbours"
	"edgeguard/node/pipeline"
	"edgeguard/node/status"
)

// adminAPI is what operators and programs use of a node.
type adminAPI struct {
	status    *status.Status
	view      *admin.View
	operator  *operator
	events    *admin.Events
	latency   *metrics.Latency
	logins    *access.Logins
	deps      listeners.Deps
	notify    *neighbours.Notifiers
	clock     *clockguard.Clock
	rates     watch.Rates
	failed    uint64 // seconds in which the site failed; of the one goroutine that notes the rates
	listeners listeners.Listeners[server.Server]
}

// settle makes the listeners that run those of the config.
func (a *adminAPI) settle(ctx context.Context, c *config.Config) {
	var want []*listeners.Service[server.Server]
	a.logins.SetPages(c.Listen.Pages())
	for _, l := range c.Listen.Admin {
		address := l.Address.String()
		want = append(want, &listeners.Service[server.Server]{
			Deps: a.deps, Serves: "admin", Settings: fmt.Sprintf("admin %+v", l), Address: address, Access: unixsocket.Access(l.Access),
			Start: func(_ context.Context, open func() (net.Listener, error)) (*server.Server, func(context.Context) error, error) {
				return a.serve(&l, open)
			},
			Full:        checks.Full{Alarms: a.deps.Alarms, Kind: alarm.AdminFull, Key: "listen.admin", Address: address, Places: l.Connections},
			Connections: func(s *server.Server) lobby.Stats { return s.Connections() },
		})
	}
	a.listeners.Settle(ctx, want)
}

// serve makes the server of a listener and opens it.
func (a *adminAPI) serve(l *config.Admin, open func() (net.Listener, error)) (*server.Server, func(context.Context) error, error) {
	c := server.Config{
		View: a.view, Operator: a.operator, TokenFile: l.TokenFile, ReaderTokenFile: l.ReaderTokenFile,
		ProxyAuth: access.ProxyAuth(l.ProxyAuth), Connections: l.Connections,
		Audit: a.audit, Metrics: metrics.New(a.status, a.events, a.latency), Log: a.deps.Log, Document: openapi.Document, Logins: a.logins,
	}
	if !l.NoConsole {
		c.Pages = func(view *admin.View, changes *admin.Changes) map[string]http.Handler {
			return console.New(view, changes).Routes()
		}
	}
	s, err := server.New(c)
	if err != nil {
		return nil, nil, err
	}
	nl, err := open()
	return s, func(ctx context.Context) error { return s.Serve(ctx, nl) }, err
}

// audit logs what an operator did by hand.
func (a *adminAPI) audit(by admin.Audit) {
	a.deps.Log.Info("by hand", "who", by.Who, "user", by.User, "role", by.Role, "way", by.Way, "action", by.Action, "target", by.Target, "detail", by.Detail, "result", by.Result)
}

// readTokens has the admin listeners that stayed read their tokens again. Where one cannot, the
// previous stays in use.
func (a *adminAPI) readTokens() {
	for _, l := range a.listeners.All() {
		if s := l.Server(); s != nil {
			if err := s.ReadTokens(); err != nil {
				a.deps.Log.Warn(fmt.Sprintf("the previous token of %s stays in use: %v", l.Address, err))
			}
		}
	}
}

// check raises the conditions of the listeners, and notes what the API shows of the past.
func (a *adminAPI) check(now time.Time, p *pipeline.Pipeline) {
	a.listeners.Check(now)
	a.status.KeepHistory(now)
	a.status.KeepAdvice(now)
	a.tellAttacks(now)
	a.noteRates(a.status.Now(), p)
}

// tellAttacks tells the receivers of notifications which attacks have begun.
func (a *adminAPI) tellAttacks(now time.Time) {
	if !a.notify.Waits() {
		return
	}
	for _, one := range a.view.NewAttacks() {
		b := one.Block
		b.Since = a.clock.Local(b.Since)
		if !b.Until.IsZero() {
			b.Until = a.clock.Local(b.Until)
		}
		a.notify.Attacked(now, &b, one.ID)
	}
}

// publish passes what was logged to the API's streams.
func (a *adminAPI) publish(e entry) {
	switch {
	case e.expired: // its record said when
	case e.block != nil:
		a.events.Block(a.status.Now(), a.status.Outward(*e.block), e.ended, e.imported)
	case e.ended != nil:
		a.events.End(a.status.Now(), a.status.Outward(e.ended.Block), e.ended)
	case e.alarm != nil:
		a.events.Alarm(*e.alarm)
	case e.crossing != nil && e.crossing.Excused:
		a.events.WouldBlock(a.status.Now(), e.crossing)
	case e.crossing != nil:
		a.events.Crossing(a.status.Now(), e.crossing)
	case e.unkept > 0:
		a.events.LeftOut(a.status.Now(), e.unkept)
	}
}

// state passes a change of the node's state to the API's streams.
func (a *adminAPI) state(state, text string) { a.events.State(a.status.Now(), state, text) }

// held passes to the API's streams that other records than before are held.
func (a *adminAPI) held(n int) { a.events.Held(a.status.Now(), n) }

// noteRates reads the counters that the API shows as rates.
func (a *adminAPI) noteRates(now time.Time, p *pipeline.Pipeline) {
	if p.Fails() {
		a.failed++
	}
	a.rates.Note(now, func() watch.Counters {
		all := p.Current().Detector.Stats()
		t := watch.Counters{Failed: a.failed, Monitor: p.Current().Config.Monitor, Requests: all.Events, Denied: all.Denied, Rules: make(map[string]watch.RuleCounters)}
		p.Verdicts.Each(func(by pipeline.Ruling, n uint64) {
			if by.Unenforced {
				t.Denied += n
			}
			if by.Action == edgeguard.ActionDeny || by.Unenforced {
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
