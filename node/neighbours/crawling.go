package neighbours

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/crawlers"
	"edgeguard/crawlers/lookup"
	"edgeguard/internal/sleep"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
)

// readEvery is how often the files are looked at.
const readEvery = 10 * time.Second

// Crawling is the service that keeps what a node knows of crawlers up to date: it reads
// their range files and has DNS asked. It is for the crawlers of one config.
type Crawling struct {
	crawlers *crawlers.Crawlers
	alarms   *alarm.Tracker
	now      func() time.Time
	log      *slog.Logger
}

// CrawlingServices is the group of the one service of a node, or of none.
type CrawlingServices struct {
	supervisor.Group[*Crawling]
	Log     *slog.Logger
	Current func() *crawlers.Crawlers // of the config in force; nil for none
}

// Settle runs the service for the crawlers of the config in force.
func (g *CrawlingServices) Settle(ctx context.Context, _ *config.Config) {
	var want []*Crawling
	if c := g.Current(); c != nil {
		want = append(want, &Crawling{crawlers: c, alarms: g.Alarms, now: g.Now, log: g.Log})
	}
	g.Group.Settle(ctx, want)
}

// Key implements supervisor.service. A reload keeps the crawlers if their config is
// the same.
func (s *Crawling) Key() string { return fmt.Sprintf("crawlers %p", s.crawlers) }

// Alarm implements supervisor.service.
func (s *Crawling) Alarm() (kind, about string) { return alarm.Crawlers, "" }

// Report implements supervisor.service.
func (s *Crawling) Report(to *admin.Stats) {
	f := s.crawlers.Figures()
	to.Crawlers = &f
}

// Run implements supervisor.service.
func (s *Crawling) Run(ctx context.Context, ready func()) error {
	ready()
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() { lookup.NewAsker(s.crawlers, s.now, nil).Run(ctx) })
	files := lookup.NewFiles(s.crawlers)
	failing := make(map[string]error)
	defer func() {
		for name := range failing {
			s.alarms.Ends(alarm.Crawlers, name)
		}
	}()
	for {
		failing = s.read(files, failing)
		if !sleep.For(ctx, readEvery) {
			return nil
		}
	}
}

// read reads the files, and raises and ends the alarms about them.
func (s *Crawling) read(files *lookup.Files, before map[string]error) map[string]error {
	changed, errs := files.Read()
	for _, text := range changed {
		s.log.Info("range files read", "crawler", text)
	}
	for name, err := range errs {
		s.alarms.Begins(s.now(), alarm.Crawlers, name, fmt.Sprintf(
			"the range files of crawler %s: %v; the addresses that were read before stay in force, and without any its claimants are unknown", name, err))
	}
	for name := range before {
		if errs[name] == nil {
			s.alarms.Recovers(alarm.Crawlers, name)
		}
	}
	return errs
}
