package neighbours

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/crowdsec"
	"edgeguard/internal/sleep"
	"edgeguard/internal/smallfile"
	"edgeguard/node/alarm"
)

const (
	// mostWaiting is how many blocks wait for a LAPI that is away.
	mostWaiting = 10_000
	// A LAPI is sent at most 600 alerts a minute: it writes each to a database.
	sendEvery, mostSent = 10 * time.Second, 100
	// beatEvery is how often it is told that the node lives; it forgets machines after hours.
	beatEvery = time.Minute
	// lastFor is how long the node waits for it when it ends.
	lastFor = 3 * time.Second
)

// ownAlerts is a supervisor.service that reports blocks to a LAPI.
type ownAlerts struct {
	deps     CrowdSecDeps
	settings config.CrowdSecAlerts
	queue    *crowdsec.AlertQueue

	mu    sync.Mutex // guards all below
	last  time.Time  // when a call succeeded, by the epoch's clock
	fault string     // of the last call
}

func newAlerts(d CrowdSecDeps, c config.CrowdSecAlerts) *ownAlerts {
	return &ownAlerts{deps: d, settings: c, queue: crowdsec.NewAlertQueue(mostWaiting)}
}

// Key implements supervisor.service.
func (s *ownAlerts) Key() string { return fmt.Sprintf("crowdsec alerts %+v", s.settings) }

// Alarm implements supervisor.service.
func (s *ownAlerts) Alarm() (kind, about string) { return alarm.CrowdSec, "alerts" }

// Report implements supervisor.service.
func (s *ownAlerts) Report(to *admin.Stats) {
	f := s.queue.Figures()
	s.mu.Lock()
	defer s.mu.Unlock()
	of(to).Alerts = &crowdsec.Outgoing{URL: s.settings.URL, Waiting: f.Waiting, Sent: f.Sent, Dropped: f.Dropped, Refused: f.Refused, Last: s.last, Error: s.fault}
}

// changed queues a block that a rule of this node made. Each node reports its own, and what was
// imported never comes here.
func (s *ownAlerts) changed(b edgeguard.Block) {
	own := b.Origin == s.deps.Node && edgeguard.Owner(b.Rule) == "" && (s.settings.Manual || b.Rule != edgeguard.ManualRule)
	if b.Lifted || own {
		s.queue.Offer(b, s.deps.Clock.Now())
	}
}

// Run implements supervisor.service.
func (s *ownAlerts) Run(ctx context.Context, ready func()) error {
	c, err := crowdsec.NewClient(crowdsec.ClientConfig{URL: s.settings.URL, CAFile: s.settings.CAFile, Version: s.deps.Version})
	if err != nil {
		return fmt.Errorf("crowdsec.alerts: %w", err)
	}
	defer c.Close()
	state := health{deps: s.deps, about: "alerts"}
	var beat time.Time
	for {
		now := s.deps.Clock.Now()
		did, err := s.send(ctx, c, now.Sub(beat) >= beatEvery)
		switch {
		case ctx.Err() != nil:
			s.rest(c)
			return nil
		case err != nil:
			state.failing(err, s.wrong(err))
		case did:
			state.failed, beat = 0, now
			ready()
		}
		if !sleep.For(ctx, state.pause(sendEvery, err)) {
			s.rest(c)
			return nil
		}
	}
}

// rest sends some of what waits when the node ends.
func (s *ownAlerts) rest(c *crowdsec.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), lastFor)
	defer cancel()
	_, _ = s.send(ctx, c, false) // nobody can be told
}

// send reports what waits, or that the node lives if beat is set. It reports whether it did one.
func (s *ownAlerts) send(ctx context.Context, c *crowdsec.Client, beat bool) (did bool, err error) {
	now := s.deps.Clock.Now()
	all := s.queue.TakeOldest(mostSent, now)
	if len(all) == 0 && !beat {
		return false, nil
	}
	err = s.call(ctx, c, all, now)
	var refused *crowdsec.RefusedError
	switch {
	case err == nil:
		s.queue.CountAccepted(len(all))
	case errors.As(err, &refused) && !later(refused):
		s.queue.Refused(len(all))
	default:
		s.queue.Return(all)
	}
	s.note(now, err)
	return err == nil, err
}

// call reports blocks, or without any that the node lives.
func (s *ownAlerts) call(ctx context.Context, c *crowdsec.Client, all []edgeguard.Block, now time.Time) error {
	password, err := smallfile.Word(s.settings.PasswordFile)
	if err != nil {
		return &ownError{fmt.Errorf("password_file: %w", err)}
	}
	m := &crowdsec.Machine{ID: s.settings.Machine, Password: password, Scenarios: []string{}}
	if len(all) == 0 {
		return c.Heartbeat(ctx, m)
	}
	body, err := crowdsec.AlertsJSON(s.epoch(all), s.deps.Clock.Epoch(now), s.deps.Unit)
	if err != nil {
		return err
	}
	return c.Report(ctx, m, body)
}

// later reports whether the same alerts may be accepted later.
func later(e *crowdsec.RefusedError) bool {
	return e.Credentials() || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status == http.StatusNotFound || e.Status >= 500
}

// epoch returns a copy of blocks with the times of the wall clock.
func (s *ownAlerts) epoch(all []edgeguard.Block) []edgeguard.Block {
	all = slices.Clone(all)
	for i := range all {
		all[i].Since, all[i].Until = s.deps.Clock.Epoch(all[i].Since), s.deps.Clock.Epoch(all[i].Until)
	}
	return all
}

func (s *ownAlerts) note(now time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = ""
	if err != nil {
		s.fault = err.Error()
	} else {
		s.last = s.deps.Clock.Epoch(now)
	}
}

// wrong returns the text of the alarm.
func (s *ownAlerts) wrong(err error) string {
	f := s.queue.Figures()
	return fmt.Sprintf("CrowdSec's LAPI at %s: %s; %d alerts wait, and %d were dropped", s.settings.URL,
		fix(err, fmt.Sprintf("compare machine_id and %s with `cscli machines list`", s.settings.PasswordFile)), f.Waiting, f.Dropped)
}
