package node

import (
	"log/slog"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/admin"
)

const (
	// alarmEvery is how often an alarm is repeated while it lasts.
	alarmEvery = time.Minute
	// maxAlarms bounds the alarms remembered: there are a few kinds, times the
	// logs and listeners of a config.
	maxAlarms = 256
)

// The kinds of alarm that the node raises itself. Sensors have more.
const (
	alarmDominant = "dominant_address"
	alarmHidden   = "mostly_spared"
	alarmClock    = "clock_step"
	alarmListen   = "listen"
	alarmLog      = "log"
	alarmLoss     = "sensor_loss"
	alarmSilent   = "source_silent"
	// Requests that are not counted: many of a source, or many of an address.
	alarmUncounted        = "uncounted"
	alarmUncountedAddress = "uncounted_address"
	alarmEnforcer         = "enforcer"
	alarmState            = "state"
	alarmReload           = "reload"
	alarmSpared           = "protected_over_limit"
	alarmWide             = "wide_over_limit"
	alarmAddrs            = "host_addresses"
	alarmFleet            = "fleet" // followed by the link's own kind
	alarmHeld             = "fleet_held"
	alarmBlocks           = "blocks_full"
	alarmFiles            = "open_files"
	// A listener is full.
	alarmAuthFull  = "auth_connections_full"
	alarmAdminFull = "admin_connections_full"
)

// alarmNames returns a kind as attributes of a log line, with its former name.
func alarmNames(kind string) []any {
	if former := admin.FormerAlarm(kind); former != "" {
		return []any{"alarm", kind, "was", former}
	}
	return []any{"alarm", kind}
}

// alarms passes on each alarm once and then once a minute, and knows which are
// active. It is safe for concurrent use.
type alarms struct {
	mu     sync.Mutex // guards raised
	raised map[alarmKey]*active
	notify func(edgeguard.Alarm) // called without mu
	log    *slog.Logger
}

// alarmKey is what an alarm is about: a kind, and a log or listener by name.
type alarmKey struct{ kind, about string }

// active is an alarm that was raised.
type active struct {
	edgeguard.Alarm
	reported time.Time
	// lasts says that it is active until it is cleared; else it was an event.
	lasts bool
}

func newAlarms(log *slog.Logger, notify func(edgeguard.Alarm)) *alarms {
	return &alarms{raised: make(map[alarmKey]*active), notify: notify, log: log}
}

// happened raises an alarm about an event.
func (a *alarms) happened(now time.Time, kind, about, text string) {
	a.raise(now, alarmKey{kind, about}, text, false)
}

// begins raises an alarm about a state that lasts until ends is called.
func (a *alarms) begins(now time.Time, kind, about, text string) {
	a.raise(now, alarmKey{kind, about}, text, true)
}

func (a *alarms) raise(now time.Time, key alarmKey, text string, lasts bool) {
	a.mu.Lock()
	s := a.raised[key]
	if s == nil {
		a.makeRoom()
		s = &active{}
		a.raised[key] = s
	}
	s.Alarm = edgeguard.Alarm{Time: now, Kind: key.kind, Text: text}
	s.lasts = lasts
	due := s.reported.IsZero() || now.Sub(s.reported) >= alarmEvery
	if due {
		s.reported = now
	}
	a.mu.Unlock()
	if due {
		a.notify(edgeguard.Alarm{Time: now, Kind: key.kind, Text: text})
	}
}

// makeRoom removes the alarm that was reported the longest ago.
func (a *alarms) makeRoom() {
	if len(a.raised) < maxAlarms {
		return
	}
	var oldest alarmKey
	var reported time.Time
	for key, s := range a.raised {
		if reported.IsZero() || s.reported.Before(reported) {
			oldest, reported = key, s.reported
		}
	}
	delete(a.raised, oldest)
}

// ends clears a state, and reports whether it was active.
func (a *alarms) ends(kind, about string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := alarmKey{kind, about}
	s := a.raised[key]
	if s == nil || !s.lasts {
		return false
	}
	delete(a.raised, key)
	return true
}

// recovers clears a state and logs that it did, if it was active.
func (a *alarms) recovers(kind, about string) {
	if a.ends(kind, about) {
		a.log.Info("works again", append(alarmNames(kind), "about", about)...)
	}
}

// lasting returns the alarms that are active.
func (a *alarms) lasting() []edgeguard.Alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []edgeguard.Alarm
	for _, s := range a.raised {
		if s.lasts {
			out = append(out, s.Alarm)
		}
	}
	return out
}
