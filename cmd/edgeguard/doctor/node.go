package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/config"
	"edgeguard/config/yaml"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
)

// askFor is how long the node may take to answer, and lineFor how long a line may be on
// its way.
const (
	askFor  = 10 * time.Second
	lineFor = 10 * time.Second
	lookAll = 20 * time.Millisecond // between two looks whether it arrived
)

// node asks the running node, if there is one, what each log delivered and which
// conditions it reports, and sends a line to each socket where it receives a log.
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
	for i := range status.Logs {
		x.delivered(&status.Logs[i], status.Time, status.Time.Sub(status.Started))
	}
	for _, l := range c.Sensors.AccessLog {
		if l.File == "" && (l.Listen.Network != "udp" || l.Listen.Local()) { // elsewhere, `from` may refuse this host
			x.send(ctx, node, l.Listen)
		}
	}
	x.filterOfNode(ctx, node)
	x.bouncersOfNode(ctx, node)
	for i, text := range status.Conditions {
		is := doubt
		if k := status.Kinds[i]; k == alarm.Served || k == alarm.Nothing {
			is = wrong
		}
		x.note(is, "the node says", "%s", text)
	}
	x.asked(&status)
}

// asked says at which listeners no proxy has asked since the node's start: blocked addresses
// are not refused there. Where something else refuses them that need not be a mistake.
func (x *examination) asked(s *admin.Stats) {
	askers, is := s.Askers(), doubt
	if len(askers) > 0 || len(s.Ways()) > 0 {
		is = fine
	}
	for _, source := range s.Sources {
		if source.Asked && !s.Monitor && !slices.Contains(askers, source.Name) {
			x.note(is, source.Name, "no proxy has asked here since the node's start %s ago: what it blocks is refused only where one asks; run `edgeguard snippets`",
				words.Length(max(0, s.Time.Sub(s.Started)).Round(time.Second)))
		}
	}
}

func statusOf(ctx context.Context, node *client.Client) (admin.Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return node.Status(ctx)
}

// delivered says when a log last delivered something.
func (x *examination) delivered(l *admin.Log, now time.Time, up time.Duration) {
	about := "log " + l.Name
	counted := l.Parsed - min(l.Parsed, l.Late)
	switch {
	case !l.Last.IsZero() && counted == 0:
		x.note(doubt, about, "the node read %s of it since its start, and all were older than the default window: compare the clock and the zone of who writes it with this host's",
			words.Plural(l.Parsed, "line", "lines"))
	case !l.Last.IsZero():
		x.note(fine, about, "the node counted %s of it since its start, the last %s ago", words.Plural(counted, "line", "lines"), words.Length(max(0, now.Sub(l.Last)).Round(time.Second)))
	case up >= time.Minute && l.Lines > 0:
		x.note(doubt, about, "the node has read %s of it since its start %v ago and counted none: check `format` and `emit`", words.Plural(l.Lines, "line", "lines"), up.Round(time.Second))
	case up >= time.Minute:
		x.note(doubt, about, "the node has counted nothing from it since its start %v ago: check that the server writes to it and has permission", up.Round(time.Second))
	}
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
