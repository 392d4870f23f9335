package neighbours

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	adminserver "edgeguard/admin/server"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/crowdsec/lapi"
	"edgeguard/internal/certfiles"
	"edgeguard/internal/lobby"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/listeners"
	"edgeguard/node/lists"
	"edgeguard/node/sockets"
	"edgeguard/node/supervisor"
	"edgeguard/snapshot"
)

// CrowdSec's bouncers ask edgeguard as if it were CrowdSec's local API, and enforce its
// blocks.

// BouncerDeps is what the service uses of a node.
type BouncerDeps struct {
	Clock   *clockguard.Clock
	Sockets *sockets.Sockets
	Alarms  *alarm.Tracker
	Log     *slog.Logger
	State   string // the folder of the keys; empty for none
	Blocks  *lists.InForce
}

// BouncerService is the bouncers of a node, and an [admin.BouncerOperator]. Make them with
// [NewBouncers].
type BouncerService struct {
	BouncerDeps
	*BouncerBacklog
	journal   *lapi.Journal
	keys      *lapi.Keys
	server    *lapi.Server
	filled    chan struct{}
	listeners listeners.Listeners[adminserver.BoundedServer]
	feeds     supervisor.Group[*bouncerFeed]
	urls      atomic.Pointer[[]string] // where bouncers connect, as they write it
	silent    map[string]bool          // of Check alone: whose alarm is active
}

// NewBouncers returns the bouncers of a node without listeners. Nothing is opened before Load
// and Settle.
func NewBouncers(d BouncerDeps) *BouncerService {
	g := supervisor.Config{Alarms: d.Alarms, Now: d.Clock.Now}
	s := &BouncerService{
		BouncerDeps: d, BouncerBacklog: newBacklog(), journal: lapi.NewJournal(), filled: make(chan struct{}), silent: make(map[string]bool),
		feeds: supervisor.Group[*bouncerFeed]{Config: g},
	}
	s.listeners.Config = g
	s.urls.Store(&[]string{})
	return s
}

// Load reads the keys. A file that cannot be used is renamed: its bouncers are refused
// until they have new ones.
func (s *BouncerService) Load() {
	all, err := lapi.OpenKeys(s.State)
	if err != nil {
		s.Alarms.Happened(s.Clock.Now(), alarm.State, lapi.KeysFile, "the keys of the bouncers cannot be used: "+err.Error()+"; "+
			snapshot.SetAside(s.State+"/"+lapi.KeysFile)+"; make new ones with `edgeguard bouncers add`")
		all = s.openAgain()
	}
	s.keys = all
	s.server = lapi.New(lapi.Config{Keys: all, Journal: s.journal, Now: s.Clock.Now})
}

// openAgain opens the keys after their file was renamed.
func (s *BouncerService) openAgain() *lapi.Keys {
	all, err := lapi.OpenKeys(s.State)
	if err != nil {
		all, _ = lapi.OpenKeys("")
	}
	return all
}

// Settle makes the listeners that run those of a config.
func (s *BouncerService) Settle(ctx context.Context, c *config.Config) {
	var want []*listeners.Service[adminserver.BoundedServer]
	var feeds []*bouncerFeed
	urls := []string{}
	for i := range c.CrowdSec.LAPI {
		l := &c.CrowdSec.LAPI[i]
		want = append(want, s.listener(l))
		scheme := "http"
		if l.TLS.CertFile != "" {
			scheme = "https"
		}
		urls = append(urls, scheme+"://"+l.Listen.String()+"/")
	}
	s.urls.Store(&urls)
	if len(want) > 0 {
		feeds = append(feeds, &bouncerFeed{BouncerDeps: s.BouncerDeps, backlog: s.BouncerBacklog, journal: s.journal, filled: sync.OnceFunc(func() {
			select {
			case <-s.filled: // by an earlier feed
			default:
				close(s.filled)
			}
		})})
	}
	s.feeds.Settle(ctx, feeds)
	s.listeners.Settle(ctx, want)
}

// Stop ends the listeners, and then what they answer from.
func (s *BouncerService) Stop() {
	s.listeners.Stop()
	s.feeds.Stop()
}

// listener returns that of an entry of the config.
func (s *BouncerService) listener(l *config.LAPI) *listeners.Service[adminserver.BoundedServer] {
	at := l.Listen.String()
	return &listeners.Service[adminserver.BoundedServer]{
		Deps: listeners.Deps{Sockets: s.Sockets, Alarms: s.Alarms, Log: s.Log}, Serves: "bouncers", Settings: fmt.Sprintf("lapi %+v", *l), Address: at,
		Start: func(ctx context.Context, open func() (net.Listener, error)) (*adminserver.BoundedServer, func(context.Context) error, error) {
			return s.serve(ctx, l, open)
		},
		Full: checks.Full{
			Alarms: s.Alarms, Kind: alarm.LAPIFull, Key: "crowdsec.lapi", Address: at, Places: l.Connections, Fence: "have a firewall pass your bouncers alone",
		},
		Connections: func(s *adminserver.BoundedServer) lobby.Stats { return s.Connections() },
	}
}

// serve makes the server of a listener and opens it.
func (s *BouncerService) serve(ctx context.Context, l *config.LAPI, open func() (net.Listener, error)) (*adminserver.BoundedServer, func(context.Context) error, error) {
	serverHere := &adminserver.BoundedServer{
		Handler: s.server, Places: l.Connections, // and no Log: strangers would fill it with their handshakes
		MayListen: func(net.Addr) error { return nil }, // the config was checked
	}
	if f := l.TLS; f != (config.ListenerTLS{}) {
		c, err := certificates(f).Config()
		if err != nil {
			return nil, nil, fmt.Errorf("crowdsec.lapi %s: %w", l.Listen.String(), err)
		}
		serverHere.TLS = c
	}
	select {
	case <-s.filled: // or bouncers that start would hear of no blocks
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	nl, err := open()
	return serverHere, func(ctx context.Context) error { return serverHere.Serve(ctx, nl) }, err
}

func certificates(f config.ListenerTLS) certfiles.Files {
	return certfiles.Files{Certificate: f.CertFile, Key: f.KeyFile, ClientCA: f.ClientCAFile, Protocols: []string{"http/1.1"}}
}

// The server is the handler of all listeners.
var _ http.Handler = (*lapi.Server)(nil)
