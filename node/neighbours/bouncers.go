package neighbours

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"edgeguard/admin"
	adminserver "edgeguard/admin/server"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/crowdsec/lapi"
	"edgeguard/internal/certfiles"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
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

// BouncerSide is the bouncers of a node, and an [admin.BouncerOperator]. Make them with
// [NewBouncers].
type BouncerSide struct {
	BouncerDeps
	*BouncerBacklog
	journal   *lapi.Journal
	keys      *lapi.Keys
	server    *lapi.Server
	filled    chan struct{}
	listeners supervisor.Group[*bouncerListener]
	feeds     supervisor.Group[*bouncerFeed]
	silent    map[string]bool // of Check alone: whose alarm is active
}

// NewBouncers returns the bouncers of a node without listeners. Nothing is opened before Load
// and Settle.
func NewBouncers(d BouncerDeps) *BouncerSide {
	g := supervisor.Config{Alarms: d.Alarms, Now: d.Clock.Now}
	s := &BouncerSide{
		BouncerDeps: d, BouncerBacklog: newBacklog(), journal: lapi.NewJournal(), filled: make(chan struct{}), silent: make(map[string]bool),
		listeners: supervisor.Group[*bouncerListener]{Config: g}, feeds: supervisor.Group[*bouncerFeed]{Config: g},
	}
	return s
}

// Load reads the keys. A file that cannot be used is renamed: its bouncers are refused
// until they have new ones.
func (s *BouncerSide) Load() {
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
func (s *BouncerSide) openAgain() *lapi.Keys {
	all, err := lapi.OpenKeys(s.State)
	if err != nil {
		all, _ = lapi.OpenKeys("")
	}
	return all
}

// Settle makes the listeners that run those of a config.
func (s *BouncerSide) Settle(ctx context.Context, c *config.Config) {
	var want []*bouncerListener
	var feeds []*bouncerFeed
	for _, l := range c.CrowdSec.LAPI {
		at := l.Listen.String()
		want = append(want, &bouncerListener{services: s, config: l, address: at, full: checks.Full{
			Alarms: s.Alarms, Kind: alarm.LAPIFull, Key: "crowdsec.lapi", Address: at, Places: l.Connections, Fence: "have a firewall pass your bouncers alone",
		}})
	}
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
func (s *BouncerSide) Stop() {
	s.listeners.Stop()
	s.feeds.Stop()
}

// BouncerAccess returns where the listeners listen, for [sockets.Sockets].
func BouncerAccess(c *config.CrowdSec) map[string]unixsocket.Access {
	all := map[string]unixsocket.Access{}
	for _, l := range c.LAPI {
		all[l.Listen.String()] = unixsocket.Access{}
	}
	return all
}

// bouncerListener is one listener: a supervisor.service.
type bouncerListener struct {
	services *BouncerSide
	config   config.LAPI
	address  string
	full     checks.Full
	server   atomic.Pointer[adminserver.BoundedServer]
}

// Key implements supervisor.service.
func (l *bouncerListener) Key() string { return fmt.Sprintf("lapi %+v", l.config) }

// Alarm implements supervisor.service.
func (l *bouncerListener) Alarm() (kind, about string) { return alarm.Listen, l.address }

// Report implements supervisor.service.
func (l *bouncerListener) Report(*admin.Stats) {}

// Run implements supervisor.service.
func (l *bouncerListener) Run(ctx context.Context, ready func()) error {
	serverHere := &adminserver.BoundedServer{
		Handler: l.services.server, Places: l.config.Connections, // and no Log: strangers would fill it with their handshakes
		MayListen: func(net.Addr) error { return nil }, // the config was checked
	}
	if f := l.config.TLS; f != (config.LAPIFiles{}) {
		c, err := certificates(f).Config()
		if err != nil {
			return fmt.Errorf("crowdsec.lapi %s: %w", l.address, err)
		}
		serverHere.TLS = c
	}
	select {
	case <-l.services.filled: // or bouncers that start would hear of no blocks
	case <-ctx.Done():
		return nil
	}
	listener, err := l.services.Sockets.Open(l.address, unixsocket.Access{})
	if err != nil {
		return err
	}
	ready()
	l.services.Log.Info("listening", "for", "bouncers", "at", l.address)
	l.server.Store(serverHere)
	defer func() {
		l.server.Store(nil)
		l.services.Alarms.Ends(alarm.LAPIFull, l.address)
	}()
	return serverHere.Serve(ctx, listener)
}

func certificates(f config.LAPIFiles) certfiles.Files {
	return certfiles.Files{Certificate: f.CertFile, Key: f.KeyFile, ClientCA: f.ClientCAFile, Protocols: []string{"http/1.1"}}
}

// The server is the handler of all listeners.
var _ http.Handler = (*lapi.Server)(nil)
