package listeners

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/lobby"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/sockets"
	"edgeguard/node/supervisor"
)

// Deps is what each listener uses of a node.
type Deps struct {
	Sockets *sockets.Sockets
	Alarms  *alarm.Tracker
	Log     *slog.Logger
}

// Service is one listener, which the server S answers: a supervisor.service. Its fields are
// set before it runs.
type Service[S any] struct {
	Deps
	Serves   string // whom, for the log: "Envoy"
	Settings string // all of them: see supervisor.service
	Address  string
	Access   unixsocket.Access
	// Start makes the server and returns what has it serve until a context is done. It opens
	// the listener when nothing else can fail: who connects from then on waits.
	Start func(ctx context.Context, open func() (net.Listener, error)) (*S, func(context.Context) error, error)
	// Figures adds those of the server to the node's; nil adds none.
	Figures func(*S, *admin.Stats)
	// Full is the condition of a listener with a bound on its connections, which Connections
	// returns. Late is one about answers, of which Lates returns how many came too late.
	Full        checks.Full
	Connections func(*S) lobby.Stats
	Late        checks.Late
	Lates       func(*S) uint64

	server atomic.Pointer[S]
}

// Key implements supervisor.service.
func (l *Service[S]) Key() string { return l.Settings }

// Alarm implements supervisor.service.
func (l *Service[S]) Alarm() (kind, about string) { return alarm.Listen, l.Address }

// Server returns the server, nil while the listener does not answer.
func (l *Service[S]) Server() *S { return l.server.Load() }

// Report implements supervisor.service.
func (l *Service[S]) Report(to *admin.Stats) {
	if s := l.Server(); s != nil && l.Figures != nil {
		l.Figures(s, to)
	}
}

// Run answers until ctx is done.
func (l *Service[S]) Run(ctx context.Context, ready func()) error {
	server, serve, err := l.Start(ctx, func() (net.Listener, error) { return l.Sockets.Open(l.Address, l.Access) })
	if err != nil {
		return err
	}
	ready()
	l.Log.Info("listening", "for", l.Serves, "at", l.Address)
	l.server.Store(server)
	defer func() {
		l.server.Store(nil)
		l.Alarms.Ends(l.Full.Kind, l.Address)
		l.Alarms.Ends(alarm.Late, l.Address)
	}()
	return serve(ctx)
}

// Check raises the conditions of a listener, and ends them.
func (l *Service[S]) Check(now time.Time) {
	s := l.Server()
	if s == nil {
		return
	}
	if l.Connections != nil {
		l.Full.Check(now, l.Connections(s))
	}
	if l.Lates != nil {
		l.Late.Check(now, l.Lates(s))
	}
}

// Listeners is the listeners of one kind. Its Config is set before it is used.
type Listeners[S any] struct {
	supervisor.Group[*Service[S]]
}

// Check raises the conditions of all.
func (g *Listeners[S]) Check(now time.Time) {
	for _, l := range g.All() {
		l.Check(now)
	}
}
