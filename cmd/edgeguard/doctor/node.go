package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/config"
	"edgeguard/config/yaml"
)

// askFor is how long the node may take to answer, and lineFor how long a line may be on
// its way.
const (
	askFor  = 10 * time.Second
	lineFor = 10 * time.Second
	lookAll = 20 * time.Millisecond // between two looks whether it arrived
)

// node asks the running node, if there is one, how its parts are, and sends a line to each socket where it receives a log.
func (x *examination) node(ctx context.Context, c *config.Config) {
	listener, ok := c.Listen.Preferred()
	if !ok {
		return
	}
	node, err := client.New(client.Config{Address: listener.Address.String(), TokenFile: cmp.Or(listener.TokenFile, listener.ReaderTokenFile)})
	if err != nil {
		return // reported by the listener's check
	}
	defer node.Close()
	status, err := statusOf(ctx, node)
	var problem *call.Problem
	switch {
	case errors.As(err, &problem), errors.Is(err, fs.ErrPermission), errors.Is(err, context.DeadlineExceeded):
		return // a node may run that this user may not ask, or that hangs
	case err != nil:
		x.nobodyAnswers()
		return
	}
	x.answered()
	for _, l := range c.Sensors.AccessLog {
		if l.File == "" && (l.Listen.Network != "udp" || l.Listen.Local()) { // elsewhere, `from` may refuse this host
			x.send(ctx, node, l.Listen)
		}
	}
	x.filterOfNode(ctx, node)
	x.bouncersOfNode(ctx, node)
	x.health(&status)
}

// health says how each part of the running node is, as the node says it.
func (x *examination) health(s *admin.Stats) {
	severity := map[string]severity{admin.HealthBad: wrong, admin.HealthWarn: doubt, admin.HealthUnknown: fine, admin.HealthWell: fine}
	for i := range s.Health {
		r := &s.Health[i]
		for _, a := range r.Alarms {
			x.note(severity[a.State], "node's "+r.Part, "%s", a.Text)
		}
		if len(r.Alarms) == 0 {
			x.note(severity[r.State], "node's "+r.Part, "%s", r.Text)
		}
	}
}

func statusOf(ctx context.Context, node *client.Client) (admin.Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return node.Status(ctx)
}

// send sends a blank line, as a proxy sends its lines: the node receives it and counts
// nothing. A line with an address, even a reserved one, would be in its figures.
func (x *examination) send(ctx context.Context, node *client.Client, to yaml.Address) {
	about := "log " + to.String()
	before, ok := linesOf(ctx, node, to)
	if !ok {
		return // a condition says why it does not listen
	}
	conn, err := (&net.Dialer{Timeout: askFor}).DialContext(ctx, to.Network, to.Address)
	if err == nil {
		_, err = conn.Write([]byte("\n"))
		_ = conn.Close() // what was not sent does not arrive
	}
	if err != nil {
		x.note(wrong, about, "a line cannot be sent to it: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lineFor)
	defer cancel()
	for {
		if now, ok := linesOf(ctx, node, to); ok && now != before {
			x.note(fine, about, "a blank line that was sent to it arrived")
			return
		}
		select {
		case <-ctx.Done():
			x.note(wrong, about, "a line that was sent to it did not arrive within %s: does another program listen there?", lineFor)
			return
		case <-time.After(lookAll):
		}
	}
}

// linesOf returns how many lines the node received at an address.
func linesOf(ctx context.Context, node *client.Client, at yaml.Address) (uint64, bool) {
	status, err := statusOf(ctx, node)
	if err != nil {
		return 0, false
	}
	for i := range status.Logs {
		if status.Logs[i].Name == at.String() {
			return status.Logs[i].Lines, true
		}
	}
	return 0, false
}

// nobodyAnswers says of ports in use that another program has them: a node would not start.
func (x *examination) nobodyAnswers() {
	for i := range x.findings {
		if f := &x.findings[i]; f.Text == inUse {
			f.Severity, f.Text = wrong, "another program listens there, so the node would not start: find it with ss -ltnp, or give the node another address"
		}
	}
}

// answered clears the doubt about ports in use: the running node has them. It
// reports one that it could not get as a condition.
func (x *examination) answered() {
	for i := range x.findings {
		if f := &x.findings[i]; f.Text == inUse {
			f.Severity, f.Text = fine, "in use by this node, which runs"
		}
	}
}
