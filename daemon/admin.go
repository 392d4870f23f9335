package daemon

import (
	"context"
	"fmt"
	"sync/atomic"

	"edgeguard/admin"
	"edgeguard/config"
)

// desk is one address at which the admin API answers.
type desk struct {
	address string
	server  atomic.Pointer[admin.Server]
}

// wantDesks gives the admin listeners of the config.
func (n *Node) wantDesks(c *config.Config) []part {
	var want []part
	for _, l := range c.Listen.Admin {
		d := &desk{address: l.Address.String()}
		want = append(want, part{
			key:   fmt.Sprintf("admin %+v", l),
			shows: d,
			run: func(ctx context.Context) {
				n.keepTrying(ctx, alarmListen, d.address, func(ctx context.Context, works func()) error {
					return n.serveAdmin(ctx, d, l, works)
				})
			},
		})
	}
	return want
}

// serveAdmin answers until ctx is done.
func (n *Node) serveAdmin(ctx context.Context, d *desk, l config.Admin, works func()) error {
	server, err := admin.New(admin.Config{
		View: view{n}, Events: n.events, TokenFile: l.TokenFile, Audit: n.audit, Latency: n.latency, Log: n.log,
	})
	if err != nil {
		return err
	}
	listener, err := n.sockets.open(d.address)
	if err != nil {
		return err
	}
	works()
	n.log.Info("listening", "for", "admin", "at", d.address)
	d.server.Store(server)
	defer d.server.Store(nil)
	return server.Serve(ctx, listener)
}

// readTokens has the admin listeners that stayed read their tokens again.
func (n *Node) readTokens() error {
	for _, d := range shows[*desk](&n.desks) {
		if server := d.server.Load(); server != nil {
			if err := server.ReadToken(); err != nil {
				return fmt.Errorf("the old token of %s stays: %w", d.address, err)
			}
		}
	}
	return nil
}

// audit writes down what an operator did by hand.
func (n *Node) audit(a admin.Audit) {
	n.log.Info("by hand", "who", a.Who, "action", a.Action, "target", a.Target, "detail", a.Detail, "result", a.Result)
}

// publish hands what was written down to the API's listeners.
func (n *Node) publish(t note) {
	switch {
	case t.over: // its record said when
	case t.block != nil:
		n.events.Block(view{n}.Now(), view{n}.outward(*t.block))
	case t.alarm != nil:
		n.events.Alarm(*t.alarm)
	}
}
