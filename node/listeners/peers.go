package listeners

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/config"
	teacher "edgeguard/enforce/haproxypeers"
	"edgeguard/haproxy"
	"edgeguard/haproxy/peers"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
	"edgeguard/node/sockets"
	"edgeguard/node/supervisor"
	"edgeguard/sensor/haproxypeers"
)

// The service of the HAProxies that connect to a node by the peers protocol: what they count
// goes to the node's rules, and what is blocked is taught to them.

const (
	// lookEvery is how often the alarms about the connections are looked at.
	lookEvery = time.Second
	// grace is how long a listener may be without a HAProxy: one that lost its
	// connection comes back within 5 seconds, and one that starts takes its time.
	grace = 30 * time.Second
)

// PeersDeps is what the service uses of a node.
type PeersDeps struct {
	Pipeline *pipeline.Pipeline
	Clock    *clockguard.Clock
	Sockets  *sockets.Sockets
	Log      *slog.Logger
	Tally    func() *peers.Tally // once the state is restored
	Cut      sync.Locker         // held while the tally and what it adds are counted together
	// Touch has the state saved soon. Missed counts requests that are not counted.
	Touch   func()
	Missed  func(source string, reason edgeguard.Reason, requests uint64)
	Teacher *teacher.Teacher
}

// PeersServices is the listeners for HAProxies of a node.
type PeersServices struct {
	supervisor.Group[*PeersService]
	PeersDeps
}

// Settle makes the listeners that run those of a config. One whose rules give HAProxy
// other columns begins again: its HAProxies connect again within seconds.
func (g *PeersServices) Settle(ctx context.Context, c *config.Config) {
	var want []*PeersService
	cols := haproxy.ColumnsOf(c.Rules)
	for _, p := range c.HAProxy.Peers {
		l := &PeersService{PeersDeps: g.PeersDeps, alarms: g.Alarms, config: p, columns: cols, address: p.Listen.String()}
		l.key = fmt.Sprintf("haproxy %+v %s %d", p, cols.Table(), len(cols.List))
		want = append(want, l)
	}
	g.Group.Settle(ctx, want)
}

// PeersAccess returns who may open the sockets of the listeners, for [sockets.Sockets]. The
// listener itself then admits the one user of its config.
func PeersAccess(s *config.HAProxy) map[string]unixsocket.Access {
	all := map[string]unixsocket.Access{}
	for _, p := range s.Peers {
		all[p.Listen.String()] = unixsocket.Access{}
		if p.Listen.Unix() {
			all[p.Listen.String()] = unixsocket.Access{Mode: 0o600}
		}
	}
	return all
}

// PeersService is one listener: a supervisor.service.
type PeersService struct {
	PeersDeps
	alarms       *alarm.Tracker
	config       config.HAProxyPeers
	columns      *haproxy.Columns
	key, address string
	// server is nil while the listener does not answer.
	server atomic.Pointer[haproxypeers.Server]
}

// Key implements supervisor.service.
func (l *PeersService) Key() string { return l.key }

// Alarm implements supervisor.service.
func (l *PeersService) Alarm() (kind, about string) { return alarm.Listen, l.address }

// Report implements supervisor.service.
func (l *PeersService) Report(to *admin.Stats) {
	server := l.server.Load()
	if server == nil {
		return
	}
	s := server.Stats().ListenerFigures
	s.Address, s.Count, s.Enforce = l.address, l.config.Count, l.config.Enforce
	to.HAProxies = append(to.HAProxies, s)
	if s.Count {
		to.Sources = append(to.Sources, admin.Source{Name: l.source(), Events: s.Requests})
	}
}

// source is the listener's name among the sources of events.
func (l *PeersService) source() string { return "haproxy " + l.address }

// Run implements supervisor.service.
func (l *PeersService) Run(ctx context.Context, ready func()) error {
	nl, err := l.Sockets.Open(l.address, PeersAccess(&config.HAProxy{Peers: []config.HAProxyPeers{l.config}})[l.address])
	if err != nil {
		return err
	}
	t := l.config.TLS
	door := haproxy.Door{User: l.config.User, TLS: haproxy.TLS{Certificate: t.CertFile, Key: t.KeyFile, ClientCA: t.ClientCAFile}}
	enter, err := door.Open(nl)
	if err != nil {
		_ = nl.Close()
		return fmt.Errorf("haproxy.peers %s: %w", l.address, err)
	}
	ready()
	l.Log.Info("listening", "for", "HAProxy", "at", l.address)
	server := haproxypeers.New(l.settings())
	l.server.Store(server)
	defer l.server.Store(nil)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(ctx, nl, enter)
		cancel()
	}()
	l.watch(ctx, server)
	cancel()
	return <-ended
}

// settings returns those of the server.
func (l *PeersService) settings() haproxypeers.Config {
	c := haproxypeers.Config{
		Now: l.Clock.Now, Tally: l.Tally(), Cut: l.Cut,
		Log: func(text string, args ...any) { l.Log.Info(text, append(args, "at", l.address)...) },
		Happened: func(text string) {
			l.alarms.Happened(l.Clock.Now(), alarm.HAProxy, l.address, "HAProxy at "+l.address+": "+text)
		},
	}
	if l.config.Count {
		c.Every = haproxypeers.NoColumn
		if every, ok := l.columns.Every(); ok {
			c.Every = every
		}
		c.Table, c.Columns, c.Alike, c.Count = l.columns.Table(), len(l.columns.List), haproxy.IsCountTable, l.counter
	}
	if l.config.Enforce {
		c.Blocks = definitions()
		c.Follow = func(string) haproxypeers.Follower { return l.Teacher.Join() }
	}
	return c
}

// counter returns what counts for one HAProxy. The state is saved when it has begun:
// after that a kill loses nothing, since HAProxy has what it counted later.
func (l *PeersService) counter() haproxypeers.Counter {
	count, begun := l.Pipeline.Increases(l.source(), l.config.Proxied), sync.OnceFunc(l.Touch)
	return func(now time.Time, table string, increases []peers.Increase) peers.Outcome {
		out := count(now, table, increases)
		if out.Lost > 0 {
			l.Missed(l.source(), edgeguard.GapTooLong, out.Lost)
		}
		if partly := out.Late - out.Lost; partly > 0 {
			l.Missed(l.source(), edgeguard.GapInPart, partly)
		}
		begun()
		return out
	}
}

// definitions returns the tables of blocks as the wire defines them.
func definitions() (all []peers.Definition) {
	for i, t := range haproxy.BlockTables() {
		all = append(all, peers.Definition{
			ID: uint64(i + 1), Name: "/" + t.Name, Key: peers.IPv6, KeyBytes: 16, Stored: []peers.Stored{{Type: peers.GPT0, Elements: 1}}, Expire: t.Expire,
		})
	}
	return all
}
