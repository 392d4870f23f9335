package node

import (
	"sync"
	"time"

	"edgeguard"
	"edgeguard/admin"
)

const (
	// alarmEvery is how often one alarm is repeated while it lasts.
	alarmEvery = time.Minute
	// maxAlarms bounds the alarms remembered: there are a few kinds, times the
	// logs and listeners of a config.
	maxAlarms = 256
)

// The kinds of alarm that the node raises itself; sensors have their own.
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
	alarmFleet            = "fleet" // with what the link calls it behind
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

// alarms lets each alarm through once and then once a minute, and knows which
// last. Safe for concurrent use.
type alarms struct {
	mu     sync.Mutex
	raised map[alarmKey]*standing
	hear   func(edgeguard.Alarm)
}

// alarmKey is what an alarm is about: a kind, and a log or listener by name.
type alarmKey struct{ kind, about string }

// standing is an alarm that was raised.
type standing struct {
	edgeguard.Alarm
	told time.Time
	// lasts says that it stands until it is cleared; else it was an event.
	lasts bool
}

func newAlarms(hear func(edgeguard.Alarm)) *alarms {
	return &alarms{raised: make(map[alarmKey]*standing), hear: hear}
}

// happened tells of an event that is worth an alarm.
func (a *alarms) happened(now time.Time, kind, about, text string) {
	a.raise(now, alarmKey{kind, about}, text, false)
}

// begins tells of a state that lasts until ends is called.
func (a *alarms) begins(now time.Time, kind, about, text string) {
	a.raise(now, alarmKey{kind, about}, text, true)
}

func (a *alarms) raise(now time.Time, key alarmKey, text string, lasts bool) {
	a.mu.Lock()
	s := a.raised[key]
	if s == nil {
		a.makeRoom()
		s = &standing{}
		a.raised[key] = s
	}
	s.Alarm = edgeguard.Alarm{Time: now, Kind: key.kind, Text: text}
	s.lasts = lasts
	due := s.told.IsZero() || now.Sub(s.told) >= alarmEvery
	if due {
		s.told = now
	}
	a.mu.Unlock()
	if due {
		a.hear(edgeguard.Alarm{Time: now, Kind: key.kind, Text: text})
	}
}

// makeRoom forgets the alarm that was told the longest ago.
func (a *alarms) makeRoom() {
	if len(a.raised) < maxAlarms {
		return
	}
	var oldest alarmKey
	var told time.Time
	for key, s := range a.raised {
		if told.IsZero() || s.told.Before(told) {
			oldest, told = key, s.told
		}
	}
	delete(a.raised, oldest)
}

// ends clears a state, and reports whether it stood.
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

// lasting gives the alarms that stand now.
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
