package daemon

import (
	"context"
	"fmt"
	"sync/atomic"

	"edgeguard/config"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/httpauth"
)

// auth is one address at which proxies ask.
type auth struct {
	address string
	// server is the one that answers now, nil while none does.
	server atomic.Pointer[httpauth.Server]
}

// authSource names a listener among the sources of events.
func authSource(address string) string { return "auth " + address }

// wantAuths gives the listeners of the config.
func (n *Node) wantAuths(c *config.Config) []part {
	var want []part
	for _, l := range c.Listen.Auth {
		a := &auth{address: l.Address.String()}
		want = append(want, part{
			key:   fmt.Sprintf("auth %+v %v", l, c.TrustedProxies),
			shows: a,
			run: func(ctx context.Context) {
				n.keepTrying(ctx, alarmListen, a.address, func(ctx context.Context, works func()) error {
					return n.serveAuth(ctx, a, l, works)
				})
			},
		})
	}
	return want
}

// authConfig says how a listener asks.
func (n *Node) authConfig(l config.Auth) (httpauth.Config, error) {
	trusted := l.Trust
	if trusted == nil {
		trusted = n.core.Load().config.TrustedProxies
	}
	trust, err := clientaddr.NewTrust(trusted, true)
	about := l.Address.String()
	decide := n.decide
	if l.Emit == 0 {
		decide = n.lookUp
	}
	return httpauth.Config{
		Decide: n.observed(authSource(about), decide),
		Now:    n.clock.Now,
		Trust:  trust,
		Header: l.Header, Fronted: l.Fronted,
		LookUp: l.Emit == 0,
		Policy: n.policy,
		Alarm: func(kind, text string) {
			n.alarms.happened(n.clock.Now(), kind, about, "forward auth at "+about+": "+text)
		},
	}, err
}

// serveAuth answers until ctx is done, and then lets the answers under way
// end.
func (n *Node) serveAuth(ctx context.Context, a *auth, l config.Auth, works func()) error {
	hc, err := n.authConfig(l)
	if err != nil {
		return fmt.Errorf("listen.auth %s: %w", a.address, err)
	}
	server, err := httpauth.New(hc)
	if err != nil {
		return err
	}
	listener, err := n.sockets.open(a.address)
	if err != nil {
		return err
	}
	works()
	n.log.Info("listening", "for", "forward auth", "at", a.address)
	a.server.Store(server)
	defer a.server.Store(nil)
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
		n.log.Warn("answers under way were cut off", "at", a.address, "error", err)
	}
	return <-ended
}
