package neighbours

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/crowdsec/lapi"
	"edgeguard/node/alarm"
)

// A bouncer is silent that has not pulled for silentTimes of its own pauses, and not for
// leastSilent.
const (
	silentTimes = 10
	leastSilent = 5 * time.Minute
)

// Bouncers implements admin.BouncerOperator.
func (s *BouncerService) Bouncers() admin.BouncerList {
	out := admin.BouncerList{Listening: *s.urls.Load(), Bouncers: []admin.Bouncer{}, Ranges: s.journal.Ranges(), Refused: s.server.Refused()}
	out.Decisions, _ = s.journal.Count()
	now := s.Clock.Now()
	for _, key := range s.keys.All() {
		b := admin.Bouncer{BouncerFigure: admin.BouncerFigure{Name: key.Name}, Made: key.Made, Kernel: key.Kernel, Packets: key.Kernel == lapi.Yes}
		if u, ok := s.server.Usage(key.Name); ok {
			s.used(&b, &u, now)
		}
		out.Bouncers = append(out.Bouncers, b)
	}
	return out
}

// used fills in what the bouncers of a key did.
func (s *BouncerService) used(b *admin.Bouncer, u *lapi.Usage, now time.Time) {
	if !u.Last.IsZero() {
		b.LastPull, b.Address, b.UserAgent, b.Packets = s.Clock.Epoch(u.Last), u.Address.String(), u.Agent, u.Kernel
	}
	b.Every, b.Silent, b.Behind, b.Addresses = u.Every.Seconds(), silent(u, now), u.Behind, u.Marks
	b.Pulls, b.Whole, b.Questions, b.Served, b.Limited, b.Reports = u.Pulls, u.Whole, u.Questions, u.Served, u.Limited, u.Reports
}

// silent reports whether the bouncers of a key have not pulled for long. Those that only
// ask about addresses have no pause.
func silent(u *lapi.Usage, now time.Time) bool {
	return u.Every > 0 && now.Sub(u.Last) > max(silentTimes*u.Every, leastSilent)
}

// AddBouncer implements admin.BouncerOperator.
func (s *BouncerService) AddBouncer(r admin.BouncerRequest) (added admin.BouncerKey, p *call.Problem) {
	if r.Kernel == "" {
		r.Kernel = lapi.Auto
	}
	secret, err := s.keys.Add(r.Name, r.Kernel, s.Clock.Epoch(s.Clock.Now()))
	if err != nil {
		return added, problem(r.Name, err)
	}
	return admin.BouncerKey{Name: r.Name, Key: secret, Kernel: r.Kernel, Listening: s.Bouncers().Listening}, nil
}

// RemoveBouncer implements admin.BouncerOperator.
func (s *BouncerService) RemoveBouncer(name string) *call.Problem {
	if err := s.keys.Remove(name); err != nil {
		return problem(name, err)
	}
	s.server.Forget(name)
	return nil
}

// problem says why a key was not made or removed.
func problem(name string, err error) *call.Problem {
	status, field, fix := http.StatusInternalServerError, "", "see whether the state folder can be written to"
	switch {
	case errors.Is(err, lapi.ErrKeyName):
		return call.NewProblem(http.StatusBadRequest, "name", "invalid name", "use 1 to 64 letters, digits, dots, hyphens and underscores, such as edge1-firewall")
	case errors.Is(err, lapi.ErrKernel):
		return call.NewProblem(http.StatusBadRequest, "kernel", "is not one of auto, yes and no", "use auto")
	case errors.Is(err, lapi.ErrKnown):
		status, field, fix = http.StatusConflict, "name", "choose another name, or remove the key first"
	case errors.Is(err, lapi.ErrUnknown):
		status, field, fix = http.StatusNotFound, "name", "run `edgeguard bouncers list`"
	case errors.Is(err, lapi.ErrFull):
		return call.NewProblem(http.StatusConflict, "", err.Error(), "remove keys that are not used")
	case errors.Is(err, lapi.ErrNoState):
		return call.NewProblem(http.StatusConflict, "", "this node has no state folder, which keeps the keys", "set state in the config and restart the node")
	}
	return call.NewProblem(status, field, fmt.Sprintf("%s: %s", call.Clip(name), err), fix)
}

// Report adds the figures of all.
func (s *BouncerService) Report(out *admin.Stats) {
	if len(s.listeners.All()) == 0 {
		return
	}
	state := s.Bouncers()
	out.Bouncers = &admin.BouncerFigures{Decisions: state.Decisions, Refused: state.Refused}
	for _, b := range state.Bouncers {
		out.Bouncers.Bouncers = append(out.Bouncers.Bouncers, b.BouncerFigure)
	}
}

// Check raises the alarms about bouncers that stay away and about listeners that are
// full. It is called once a second.
func (s *BouncerService) Check(now time.Time) {
	s.listeners.Check(now)
	listens, known := len(s.listeners.All()) > 0, make(map[string]bool)
	for _, key := range s.keys.All() {
		u, ok := s.server.Usage(key.Name)
		if !ok || !listens || !silent(&u, now) {
			continue
		}
		known[key.Name], s.silent[key.Name] = true, true
		s.Alarms.Begins(now, alarm.Bouncer, key.Name, fmt.Sprintf(
			"the bouncer %s has not pulled for %s, and did so every %s: it enforces no new blocks; look at its log, and remove its key if it is gone (edgeguard bouncers remove %s)",
			key.Name, now.Sub(u.Last).Round(time.Second), max(u.Every.Round(time.Second), time.Second), key.Name))
	}
	for name := range s.silent {
		if !known[name] {
			delete(s.silent, name)
			s.Alarms.Recovers(alarm.Bouncer, name)
		}
	}
}
