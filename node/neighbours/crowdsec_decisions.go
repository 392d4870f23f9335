package neighbours

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/crowdsec"
	"edgeguard/internal/sleep"
	"edgeguard/internal/smallfile"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
)

// aboutMost is the alarm of a LAPI that has more decisions than are taken.
const aboutMost = "most"

// decisions is a supervisor.service that holds what a LAPI has decided.
type decisions struct {
	deps     CrowdSecDeps
	settings config.CrowdSecDecisions
	filter   crowdsec.Filter
	kept     *decisionsFile

	mu      sync.Mutex // guards figures
	figures crowdsec.Incoming
}

func newDecisions(d CrowdSecDeps, c config.CrowdSecDecisions, kept *decisionsFile) *decisions {
	return &decisions{
		deps: d, settings: c, kept: kept, figures: crowdsec.Incoming{URL: c.URL},
		filter: crowdsec.Filter{Origins: c.Origins, Containing: c.Containing, NotContaining: c.NotContaining, Most: c.Most,
			Holds: func(p netip.Prefix) bool { return d.Set.BlockOf(d.Clock.Now(), p) != nil }},
	}
}

// Key implements supervisor.service.
func (s *decisions) Key() string { return fmt.Sprintf("crowdsec decisions %+v", s.settings) }

// Alarm implements supervisor.service.
func (s *decisions) Alarm() (kind, about string) { return alarm.CrowdSec, "decisions" }

// Report implements supervisor.service.
func (s *decisions) Report(to *admin.Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.figures
	f.InForce = countDecisions(s.deps.Set)
	of(to).Decisions = &f
}

// countDecisions returns how many decisions are held.
func countDecisions(set *imported.Set) int {
	for _, one := range set.Stats() {
		if one.Source == crowdSecSource {
			return one.InForce
		}
	}
	return 0
}

// Run implements supervisor.service.
func (s *decisions) Run(ctx context.Context, ready func()) error {
	s.kept.load()
	defer s.kept.save()
	defer s.deps.Alarms.Ends(alarm.CrowdSec, aboutMost)
	c, err := crowdsec.NewClient(crowdsec.ClientConfig{URL: s.settings.URL, CAFile: s.settings.CAFile, Version: s.deps.Version})
	if err != nil {
		return fmt.Errorf("crowdsec.decisions: %w; %s", err, s.stays())
	}
	defer c.Close()
	follower := crowdsec.NewFollower()
	state := health{deps: s.deps, about: "decisions"}
	for {
		err := s.pull(ctx, c, follower)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			follower.Missed()
			state.failing(err, s.wrong(err))
		default:
			state.failed = 0
			ready()
		}
		s.kept.saveSometimes(s.deps.Clock.Now())
		if !sleep.For(ctx, state.pause(s.settings.Every, err)) {
			return nil
		}
	}
}

// pull asks once, and does what the answer says.
func (s *decisions) pull(ctx context.Context, c *crowdsec.Client, follower *crowdsec.Follower) error {
	answer, err := s.ask(ctx, c, follower.Whole(s.deps.Clock.Now()))
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.figures.Failures++
		s.figures.Error = err.Error()
		return err
	}
	has := countDecisions(s.deps.Set)
	verdict, doubt := follower.Judge(answer, has)
	if doubt != "" {
		s.deps.Log.Warn("decisions of CrowdSec: "+doubt, "lapi", s.settings.URL)
	}
	now := s.deps.Clock.Now()
	var out imported.Outcome
	switch verdict {
	case crowdsec.Replace:
		out = s.deps.Set.Replace(crowdSecSource, answer.Add, now)
	case crowdsec.Apply:
		answer.DropBeyondRoom(has)
		out = s.deps.Set.Apply(crowdSecSource, answer.Add, answer.Gone, now)
	case crowdsec.AddOnly:
		answer.Gone = nil
		answer.DropBeyondRoom(has)
		out = s.deps.Set.Apply(crowdSecSource, answer.Add, nil, now)
	}
	s.note(answer, &out, now)
	return nil
}

// ask reads one answer.
func (s *decisions) ask(ctx context.Context, c *crowdsec.Client, whole bool) (*crowdsec.Answer, error) {
	key, err := smallfile.Word(s.settings.KeyFile)
	if err != nil {
		return nil, &ownError{fmt.Errorf("key_file: %w", err)}
	}
	answer := s.filter.Answer(s.deps.Clock.Now(), whole)
	return answer, c.PullDecisions(ctx, key, whole, answer.Added, answer.Deleted)
}

// note counts what an answer brought, and logs it if it changed something.
func (s *decisions) note(answer *crowdsec.Answer, out *imported.Outcome, now time.Time) {
	if out.Changed() {
		s.kept.changed = true
		s.deps.Log.Info("decisions of CrowdSec", "whole", answer.Whole, "added", out.Added, "extended", out.Extended, "lifted", out.Lifted, "held", out.InForce)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer.Whole {
		s.figures.Skipped = crowdsec.Skipped{}
	}
	s.figures.Skipped.Add(answer.Skipped)
	s.figures.Answers++
	s.figures.Last, s.figures.Error = s.deps.Clock.Epoch(now), ""
	if n := s.figures.Skipped.NoRoom; n > 0 {
		s.deps.Alarms.Begins(now, alarm.CrowdSec, aboutMost, fmt.Sprintf("CrowdSec's LAPI at %s has %d decisions more than the %d that crowdsec.decisions.most allows; "+
			"they are not in force: raise it, or take fewer origins or scenarios", s.settings.URL, n, s.settings.Most))
	} else {
		s.deps.Alarms.Ends(alarm.CrowdSec, aboutMost)
	}
}

// wrong returns the text of the alarm.
func (s *decisions) wrong(err error) string {
	return fmt.Sprintf("CrowdSec's LAPI at %s: %s; %s", s.settings.URL,
		fix(err, "write the key that `cscli bouncers add NAME` prints into "+s.settings.KeyFile), s.stays())
}

// stays says what is in force without an answer.
func (s *decisions) stays() string {
	return "the " + words.Plural(countDecisions(s.deps.Set), "decision that is held stays in force until its end", "decisions that are held stay in force until their ends")
}
