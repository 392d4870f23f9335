package node

import (
	"context"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/metrics"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/listeners"
	"edgeguard/node/neighbours"
	"edgeguard/node/supervisor"
)

// sensors hand in events: forward auth, logs and HAProxies.
type sensors struct {
	logDeps
	uncounted *checks.UncountedRequests
	latency   *metrics.Latency // of decisions
	asked     *listeners.Asked
	logs      supervisor.Group[*logSource]
	haproxies listeners.HAProxies
	crawling  neighbours.CrawlingServices // which of their events are a crawler's
}

// settle makes the sensors that run those of the config; a stream of log lines
// may have so many connections.
func (s *sensors) settle(ctx context.Context, c *config.Config, connections int) {
	s.crawling.Settle(ctx, s.pipeline.Current().Crawlers)
	s.asked.Settle(ctx, c)
	s.logs.Settle(ctx, s.logSources(c, connections))
	s.haproxies.Settle(ctx, c)
}

func (s *sensors) stop() {
	s.asked.Stop()
	s.logs.Stop()
	s.haproxies.Stop()
	s.crawling.Stop()
}

func (s *sensors) report(out *admin.Stats) {
	s.asked.Report(out)
	s.logs.Report(out)
	s.haproxies.Report(out)
	s.crawling.Report(out)
}

// handedIn returns how many events each source handed in.
func (s *sensors) handedIn() []admin.Source {
	var out admin.Stats
	s.report(&out)
	return out.Sources
}

// checkLoss raises the alarm about log lines that were written and could not
// be read.
func (s *sensors) checkLoss(now time.Time) {
	for _, l := range s.logs.All() {
		seen := l.figures()
		if lines, text := checks.Loss(&l.seen, &seen); text != "" {
			l.alarms.Happened(now, alarm.Loss, l.name, l.name+": "+text)
			s.uncounted.Missed(l.source(), edgeguard.LinesLost, lines)
		}
		if text := checks.Dropped(&l.seen, &seen); text != "" {
			l.alarms.Happened(now, alarm.Loss, l.name+", HAProxy", l.name+": "+text)
		}
		l.seen = seen
	}
}

// checkSilence raises the alarm about logs that deliver nothing.
func (s *sensors) checkSilence(now time.Time) {
	var all uint64
	for _, source := range s.handedIn() {
		all += source.Events
	}
	for _, l := range s.logs.All() {
		is := l.progress()
		is.Others = all - min(all, is.Events)
		if text := l.silence.Look(now, is); text != "" {
			l.alarms.Begins(now, alarm.Silent, l.name, l.name+": "+text)
		} else {
			l.alarms.Ends(alarm.Silent, l.name)
		}
	}
}
