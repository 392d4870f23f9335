package listeners

import (
	"context"
	"fmt"
	"strings"
	"time"

	"edgeguard/internal/sleep"
	"edgeguard/node/alarm"
	"edgeguard/sensor/haproxypeers"
)

// fix is what brings haproxy.cfg and the rules into agreement.
const fix = "put what `edgeguard snippets haproxy-peers` prints into haproxy.cfg, and reload HAProxy"

// watch raises the alarms about the connections of a server, until ctx is done.
func (l *peersAt) watch(ctx context.Context, server *haproxypeers.Server) {
	w := watcher{listener: l, alone: l.Clock.Now(), named: map[string]bool{}}
	for sleep.For(ctx, lookEvery) {
		w.look(l.Clock.Now(), server.Stats())
	}
	w.end()
}

// watcher is what is known of the connections.
type watcher struct {
	listener *peersAt
	alone    time.Time       // since when no HAProxy is connected
	named    map[string]bool // the HAProxies with an alarm
}

// look compares the connections at now with what should be.
func (w *watcher) look(now time.Time, s haproxypeers.Stats) {
	l := w.listener
	if len(s.HAProxies) > 0 {
		w.alone = now
		l.Alarms.Recovers(alarm.HAProxyAway, l.address)
	}
	if now.Sub(w.alone) >= grace {
		l.Alarms.Begins(now, alarm.HAProxyAway, l.address, l.away(s.Hello))
	}
	wrong := map[string]bool{}
	for _, h := range s.HAProxies {
		if len(h.Wrong) == 0 {
			continue
		}
		about := fmt.Sprintf("%s at %s", h.Name, l.address)
		wrong[about] = true
		l.Alarms.Begins(now, alarm.HAProxyTable, about, fmt.Sprintf("HAProxy %q at %s: %s: %s", h.Name, l.address, strings.Join(h.Wrong, "; "), fix))
	}
	for about := range w.named {
		if !wrong[about] {
			l.Alarms.Recovers(alarm.HAProxyTable, about)
		}
	}
	w.named = wrong
}

// away says that no HAProxy is connected, and what that means.
func (l *peersAt) away(refused string) string {
	text := "no HAProxy is connected to " + l.address
	switch {
	case l.config.Count && l.config.Enforce:
		text += ", so it counts nothing for this node and its blocks end within 5 minutes"
	case l.config.Count:
		text += ", so it counts nothing for this node"
	default:
		text += ", so its blocks end within 5 minutes"
	}
	if refused != "" {
		return text + "; the last one was refused: " + refused
	}
	return text + ": " + fix + "; in its chroot it must find the socket at the same path"
}

// end ends the alarms: the listener ends.
func (w *watcher) end() {
	l := w.listener
	l.Alarms.Ends(alarm.HAProxyAway, l.address)
	for about := range w.named {
		l.Alarms.Ends(alarm.HAProxyTable, about)
	}
}
