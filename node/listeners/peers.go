package listeners

import (
	"context"
	"fmt"
	"net"
	"sync"
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

// HAProxies makes the listeners for HAProxies. Its fields are what these use of a node.
type HAProxies struct {
	Deps
	Pipeline *pipeline.Pipeline
	Clock    *clockguard.Clock
	Tally    func() *peers.Tally // once the state is restored
	Cut      sync.Locker         // held while the tally and what it adds are counted together
	// Touch has the state saved soon. Missed counts requests that are not counted.
	Touch   func()
	Missed  func(source string, reason edgeguard.Reason, requests uint64)
	Teacher *teacher.Teacher
}

// Peers returns the listeners for HAProxy's peers. One whose rules give HAProxy other columns
// begins again: its HAProxies connect again within seconds.
func (p *HAProxies) Peers(c *config.Config) (all []*Service[haproxypeers.Server]) {
	columns := haproxy.ColumnsOf(c.Rules)
	for _, l := range c.HAProxy.Peers {
		at := &peersAt{HAProxies: p, config: l, columns: columns, address: l.Listen.String()}
		all = append(all, &Service[haproxypeers.Server]{
			Deps: p.Deps, Serves: "HAProxy", Address: at.address, Access: unixsocket.Access(l.Access()),
			Settings: fmt.Sprintf("haproxy.peers %+v %s %d", l, columns.Table(), len(columns.List)), Start: at.start, Figures: at.figures,
		})
	}
	return all
}

// peersAt is one entry of the config.
type peersAt struct {
	*HAProxies
	config  config.HAProxyPeers
	columns *haproxy.Columns
	address string
}

// figures adds those of the listener.
func (l *peersAt) figures(server *haproxypeers.Server, to *admin.Stats) {
	s := server.Stats().ListenerFigures
	s.Address, s.Count, s.Enforce = l.address, l.config.Count, l.config.Enforce
	to.HAProxies = append(to.HAProxies, s)
	if s.Count {
		to.Sources = append(to.Sources, admin.Source{Name: l.source(), Kind: "haproxy", At: l.address, Events: s.Requests})
	}
}

// source is the listener's name among the sources of events.
func (l *peersAt) source() string { return "haproxy " + l.address }

// start opens the listener and makes its server.
func (l *peersAt) start(_ context.Context, open func() (net.Listener, error)) (*haproxypeers.Server, func(context.Context) error, error) {
	nl, enter, err := openDoor(&l.config.HAProxyDoor, open)
	if err != nil {
		return nil, nil, fmt.Errorf("haproxy.peers %s: %w", l.address, err)
	}
	server := haproxypeers.New(l.settings())
	return server, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- server.Serve(ctx, nl, enter)
			cancel()
		}()
		l.watch(ctx, server)
		cancel()
		return <-ended
	}, nil
}

// settings returns those of the server.
func (l *peersAt) settings() haproxypeers.Config {
	c := haproxypeers.Config{
		Now: l.Clock.Now, Tally: l.Tally(), Cut: l.Cut,
		Log: func(text string, args ...any) { l.Log.Info(text, append(args, "at", l.address)...) },
		Happened: func(text string) {
			l.Alarms.Happened(l.Clock.Now(), alarm.HAProxy, l.address, "HAProxy at "+l.address+": "+text)
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
		c.Follow = func(string) haproxypeers.Follower { return l.Teacher.NewFollower() }
	}
	return c
}

// counter returns what counts for one HAProxy. The state is saved when it has begun:
// after that a kill loses nothing, since HAProxy has what it counted later.
func (l *peersAt) counter() haproxypeers.Counter {
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
