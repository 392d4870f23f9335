package node

import (
	"context"
	"fmt"
	"sync/atomic"

	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/internal/unixsocket"
)

// desk is one address at which the admin API answers.
type desk struct {
	node    *Node
	config  config.Admin
	address string
	places  int // connections at once
	full    crowd
	server  atomic.Pointer[admin.Server]
}

// wantDesks gives the admin listeners of the config.
func (n *Node) wantDesks(c *config.Config) []*desk {
	var want []*desk
	for _, l := range c.Listen.Admin {
		want = append(want, &desk{node: n, config: l, address: l.Address.String(), places: l.Connections})
	}
	return want
}

func (d *desk) Key() string             { return fmt.Sprintf("admin %+v", d.config) }
func (d *desk) Alarm() (string, string) { return alarmListen, d.address }
func (d *desk) Report(*admin.Stats)     {}

// Run answers until ctx is done.
func (d *desk) Run(ctx context.Context, works func()) error {
	n, l := d.node, d.config
	server, err := admin.New(admin.Config{
		Reader: n.status, Operator: n.operator, Events: n.events, TokenFile: l.TokenFile, Connections: l.Connections, Audit: n.audit, Latency: n.latency, Log: n.log,
	})
	if err != nil {
		return err
	}
	listener, err := n.sockets.open(d.address, unixsocket.Access(l.Access))
	if err != nil {
		return err
	}
	works()
	n.log.Info("listening", "for", "admin", "at", d.address)
	d.server.Store(server)
	defer func() {
		d.server.Store(nil)
		n.alarms.ends(alarmAdminFull, d.address)
	}()
	return server.Serve(ctx, listener)
}

// readTokens has the admin listeners that stayed read their tokens again.
func (n *Node) readTokens() error {
	for _, d := range n.desks.all() {
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
		n.events.Block(n.status.Now(), n.status.Outward(*t.block))
	case t.alarm != nil:
		n.events.Alarm(*t.alarm)
	}
}
