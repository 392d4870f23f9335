package neighbours

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/internal/sleep"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
)

// Services that follow the lists of a config: each fetches its list, has it judged, puts it in
// force on this node alone, and keeps it on disk.

// BlocklistSet is the imported blocks of a node, as far as its lists need it.
type BlocklistSet interface {
	Replace(source string, entries []imported.Entry, now time.Time) imported.Outcome
	DropSource(source string, now time.Time)
}

// BlocklistDeps is what the services use of a node.
type BlocklistDeps struct {
	Set          BlocklistSet
	Epoch, Local func(time.Time) time.Time // between the node's time and the epoch's
	Log          *slog.Logger
	State        string // the folder of what outlives a restart; empty for none
	Version      string
}

// Subscriptions is the lists of a node.
type Subscriptions struct {
	supervisor.Group[*Subscription]
	BlocklistDeps

	mu    sync.Mutex // guards known
	known map[string]bool
}

// Settle makes the lists that are followed those of a config. What a list blocked that
// left the config ends.
func (g *Subscriptions) Settle(ctx context.Context, c *config.Config) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var want []*Subscription
	names := make(map[string]bool)
	for _, one := range c.Blocklists {
		want = append(want, newSubscription(g.BlocklistDeps, g.Config, one))
		names[one.Name] = true
	}
	g.Group.Settle(ctx, want)
	for name := range g.known {
		if !names[name] {
			g.Set.DropSource(name, g.Now())
			g.Log.Info("the list left the config, and its blocks end", "list", name)
		}
	}
	if g.known == nil || len(g.known) > 0 {
		removeOthers(g.State, names)
	}
	g.known = names
}

// Confirm puts the list in force that awaits it under a name.
func (g *Subscriptions) Confirm(name string) error {
	for _, one := range g.All() {
		if one.config.Name == name {
			return one.confirm()
		}
	}
	return fmt.Errorf("%q is not one of the lists: `edgeguard blocklists` shows them", name)
}

// kept begins the names of the files in which lists are kept.
const kept = "blocklist."

// removeOthers removes the lists on disk that are not among names.
func removeOthers(folder string, names map[string]bool) {
	if folder == "" {
		return
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if name, is := strings.CutPrefix(e.Name(), kept); is && e.Type().IsRegular() && !names[name] {
			_ = os.Remove(filepath.Join(folder, e.Name())) // what stays is ignored
		}
	}
}

// Subscription follows one list: a supervisor.service.
type Subscription struct {
	BlocklistDeps
	alarms *alarm.Tracker
	now    func() time.Time
	config config.BlocklistSource
	from   source

	mu    sync.Mutex // guards state; a leaf, but for the set's and the alarms'
	state state
}

func newSubscription(d BlocklistDeps, c supervisor.Config, s config.BlocklistSource) *Subscription {
	return &Subscription{BlocklistDeps: d, alarms: c.Alarms, now: c.Now, config: s, from: sourceOf(s, d.Version)}
}

// Key implements supervisor.service.
func (s *Subscription) Key() string { return fmt.Sprintf("blocklist %+v", s.config) }

// Alarm implements supervisor.service.
func (s *Subscription) Alarm() (kind, about string) { return alarm.Blocklist, s.config.Name }

// Report implements supervisor.service.
func (s *Subscription) Report(*admin.Stats) {}

// Run implements supervisor.service.
func (s *Subscription) Run(ctx context.Context, ready func()) error {
	defer func() {
		s.forgets()
		s.alarms.Ends(alarm.BlocklistWaits, s.config.Name)
		s.alarms.Ends(alarm.BlocklistStale, s.config.Name)
	}()
	for pause := s.begin(); sleep.For(ctx, pause); {
		now := s.now()
		if s.ages(now); s.due(now) {
			if s.look(ctx) {
				ready()
			}
		}
		pause = s.rest()
	}
	return nil
}
