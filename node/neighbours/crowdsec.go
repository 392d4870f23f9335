package neighbours

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist/imported"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/crowdsec"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
)

// Services that take decisions from a CrowdSec LAPI and report blocks to one.

// crowdSecSource is the name under which decisions are held among the imported blocks.
const crowdSecSource = "crowdsec"

// CrowdSecDeps is what the services use of a node.
type CrowdSecDeps struct {
	Set     *imported.Set
	Clock   *clockguard.Clock
	Alarms  *alarm.Tracker
	Log     *slog.Logger
	State   string // the folder where the decisions are kept; empty for none
	Node    string // the origin of its own blocks
	Version string
	// Unit returns what the figures of a node's rule are of.
	Unit func(rule, origin string) words.Measure
}

// CrowdSecClient is both services of one node.
type CrowdSecClient struct {
	CrowdSecDeps
	decisions supervisor.Group[*decisions]
	alerts    supervisor.Group[*ownAlerts]
	kept      *decisionsFile
}

// NewCrowdSecClient returns the services of a node; none runs yet.
func NewCrowdSecClient(d CrowdSecDeps) *CrowdSecClient {
	group := supervisor.Config{Alarms: d.Alarms, Now: d.Clock.Now}
	s := &CrowdSecClient{CrowdSecDeps: d, decisions: supervisor.Group[*decisions]{Config: group}, alerts: supervisor.Group[*ownAlerts]{Config: group}, kept: &decisionsFile{deps: d}}
	if d.State != "" {
		s.kept.path = filepath.Join(d.State, fileName)
	}
	return s
}

// Settle makes the services that run those of a config. Without one that takes decisions none is
// held.
func (s *CrowdSecClient) Settle(ctx context.Context, c *config.Config) {
	var take []*decisions
	if c.CrowdSec.Decisions != nil {
		take = append(take, newDecisions(s.CrowdSecDeps, *c.CrowdSec.Decisions, s.kept))
	}
	s.decisions.Settle(ctx, take)
	if take == nil {
		s.Set.DropSource(crowdSecSource, s.Clock.Now())
	}
	var report []*ownAlerts
	if c.CrowdSec.Alerts != nil {
		report = append(report, newAlerts(s.CrowdSecDeps, *c.CrowdSec.Alerts))
	}
	s.alerts.Settle(ctx, report)
}

// Stop ends the services and waits for them.
func (s *CrowdSecClient) Stop() {
	s.decisions.Stop()
	s.alerts.Stop()
}

// Report adds the figures of both.
func (s *CrowdSecClient) Report(to *admin.Stats) {
	s.decisions.Report(to)
	s.alerts.Report(to)
}

// Changed is called with every change of the node's own list that is enforced. It does not wait.
func (s *CrowdSecClient) Changed(b edgeguard.Block) {
	for _, one := range s.alerts.All() {
		one.changed(b)
	}
}

// of returns the part of the figures that both sides share.
func of(to *admin.Stats) *crowdsec.Figures {
	if to.CrowdSec == nil {
		to.CrowdSec = new(crowdsec.Figures)
	}
	return to.CrowdSec
}

// health is whether a LAPI answers: when to ask again, and when an operator should know.
type health struct {
	deps   CrowdSecDeps
	about  string // of its alarms
	failed int    // calls in a row
}

// slowest is the longest that a LAPI is left alone after it has failed, unless it is asked less
// often anyway.
const slowest = time.Minute

// failing notes a call that failed, and raises the alarm: immediately where only an operator can
// help, and otherwise after the second, since a LAPI that is restarted is away for a moment.
func (h *health) failing(err error, text string) {
	h.failed++
	var refused *crowdsec.RefusedError
	var own *ownError
	if h.failed > 1 || errors.As(err, &own) || errors.As(err, &refused) && refused.Credentials() {
		h.deps.Alarms.Begins(h.deps.Clock.Now(), alarm.CrowdSec, h.about, text)
	}
}

// pause returns how long to wait after a call with an error or none: every, longer each time that
// one has failed, and as long as the LAPI asks.
func (h *health) pause(every time.Duration, err error) time.Duration {
	var asked time.Duration
	if refused := new(crowdsec.RefusedError); errors.As(err, &refused) {
		asked = refused.After
	}
	return max(asked, min(every<<min(h.failed, 6), max(every, slowest)))
}

// ownError is what is wrong on this host.
type ownError struct{ error }

// fix says what an operator can do about a call that failed; credentials is what to do where they
// are refused.
func fix(err error, credentials string) string {
	var refused *crowdsec.RefusedError
	if errors.As(err, &refused) && refused.Credentials() {
		return fmt.Sprintf("%v; %s", err, credentials)
	}
	return err.Error()
}
