package node

import (
	"fmt"
	"time"

	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/sensor/accesslog"
)

// logConnections is how many connections a stream of log lines may have. Each
// costs up to 1 MiB.
const logConnections = 64

// The file descriptors that the node needs besides its connections: standard
// streams, the event loop, timers, clocks and netlink; two for each listener,
// and one that was accepted and not yet counted. What else an entry of the config
// needs is its own.
const (
	ownFiles      = 32
	listenerFiles = 3
	haproxyFiles  = 64 // of one listener for peers, with those that say nothing
)

// The fewest connections of a listener, however few files may be open.
const (
	leastAuth  = 8
	leastOther = 4
)

// places is how many connections there may be: those of proxies that ask, and all others.
type places struct{ auth, others int }

// wantedPlaces returns the connections that the config asks for, and how many
// other files the node needs.
func wantedPlaces(c *config.Config) (want places, own int) {
	own = ownFiles
	for _, l := range c.Entries() {
		own += l.Files
		if l.Listener == nil {
			continue
		}
		own += listenerFiles
		switch {
		case l.Connections == nil:
			own += haproxyFiles
		case l.Asked != "":
			want.auth += *l.Connections
		default:
			want.others += *l.Connections
		}
	}
	for _, l := range c.Sensors.AccessLog {
		if l.IsPattern() {
			own += accesslog.MostFollowed
		}
		if isStream(l) {
			want.others += logConnections
		}
	}
	return want, own
}

func isStream(l config.AccessLog) bool {
	return l.Listen.Network == "tcp" || l.Listen.Network == "unix"
}

// share divides the files that may be open, so that connections never use the
// last one: forward auth gets three quarters, or what the others leave.
func (want places) share(files int) places {
	if want.auth+want.others <= files {
		return want
	}
	given := places{others: min(want.others, files/4)}
	given.auth = min(want.auth, files-given.others)
	return given
}

// withinFiles returns the config with no more connections than there may be open
// files, and how many a stream of log lines may have. That they are fewer than
// the config asks for is an alarm.
func withinFiles(now time.Time, c *config.Config, alarms *alarm.Tracker) (_ *config.Config, stream int) {
	want, own := wantedPlaces(c)
	limit := openFiles()
	given := want.share(max(limit-own, 0))
	stream = portion(logConnections, given.others, want.others, leastOther)
	if given == want {
		alarms.Ends(alarm.Files, "")
		return c, stream
	}
	less := c.OwnListeners()
	for _, l := range less.Listeners() {
		switch {
		case l.Connections == nil:
		case l.Asked != "":
			*l.Connections = portion(*l.Connections, given.auth, want.auth, leastAuth)
		default:
			*l.Connections = portion(*l.Connections, given.others, want.others, leastOther)
		}
	}
	alarms.Begins(now, alarm.Files, "", fmt.Sprintf(
		"this process may open only %d files: forward auth, SPOE and Envoy get %d connections of %d, the others %d of %d; raise it to %d (systemd: LimitNOFILE=, else ulimit -n) and restart, or lower `connections`",
		limit, given.auth, want.auth, given.others, want.others, own+want.auth+want.others))
	return less, stream
}

// portion returns one listener's part of what all of its kind were given.
func portion(of, given, want, least int) int {
	if given >= want {
		return of
	}
	return max(int(int64(of)*int64(given)/int64(want)), least)
}
