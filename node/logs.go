package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/internal/sleep"
	"edgeguard/logline"
	"edgeguard/logline/scan"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/pipeline"
	"edgeguard/node/supervisor"
	"edgeguard/sensor/accesslog"
)

// logSource is one log that is followed or received: a service.
type logSource struct {
	logDeps
	config      config.AccessLog
	name        string
	connections int           // of a stream, at most
	others      []string      // what other sources read of a pattern's files
	stats       string        // the stats socket of the HAProxy that writes it; empty for none
	dropped     atomic.Uint64 // lines that this HAProxy could not send
	// One of them, while it runs.
	follower atomic.Pointer[follower]
	listener atomic.Pointer[accesslog.Listener]
	// seen is its figures of a second ago: housekeeping's.
	seen    admin.Log
	silence checks.Silence
}

// follower follows a file, or the files of a pattern.
type follower interface {
	Run(ctx context.Context) error
	Stats() accesslog.FollowStats
	Positions() map[string]accesslog.Position
}

// source names the log among the sources of events.
func (s *logSource) source() string { return "log " + s.name }

// owns reports whether a file is one that the log reads.
func (s *logSource) owns(file string) bool {
	return s.config.Reads(file) && !slices.ContainsFunc(s.others, func(other string) bool {
		return (&config.AccessLog{File: other}).Reads(file)
	})
}

// logDeps is what the logs use of a node.
type logDeps struct {
	pipeline  *pipeline.Pipeline
	clock     *clockguard.Clock
	alarms    *alarm.Tracker
	log       *slog.Logger
	positions *positions
	cut       sync.Locker // of the store: held while lines are decided and the position moves on
	placed    func()      // called when a log has its first position
	// uncounter returns what a source calls with requests that it cannot count.
	uncounter func(source string) edgeguard.Uncounter
}

// logSources returns the logs of the config; connections is how many a stream of
// lines may have.
func (d logDeps) logSources(c *config.Config, connections int) []*logSource {
	var want []*logSource
	for i, l := range c.Sensors.AccessLog {
		s := &logSource{logDeps: d, config: l, name: l.File, connections: connections}
		if l.File == "" {
			s.name = l.Listen.String()
		}
		if h := c.Enforce.HAProxy; h != nil && l.Listen.Network == "unixgram" && l.Format == haproxyLog {
			s.stats = h.Socket
		}
		if l.IsPattern() {
			s.others = c.Sensors.OtherFiles(i)
		}
		want = append(want, s)
	}
	return want
}

// logGroup is the logs of a node.
type logGroup struct {
	logDeps
	supervisor.Group[*logSource]
	connections int // of a stream, at most; set before Settle
	missed      func(source string, reason edgeguard.Reason, requests uint64)
	handedIn    func() []admin.Source // by all sources
}

// Settle makes the logs that run those of the config.
func (g *logGroup) Settle(ctx context.Context, c *config.Config) {
	g.Group.Settle(ctx, g.logSources(c, g.connections))
}

// check raises the alarms about logs that lose lines or deliver nothing.
func (g *logGroup) check(now time.Time) {
	g.checkLoss(now)
	g.checkSilence(now)
}

// checkLoss raises the alarm about log lines that were written and could not
// be read.
func (g *logGroup) checkLoss(now time.Time) {
	for _, l := range g.All() {
		seen := l.figures()
		if lines, text := checks.Loss(&l.seen, &seen); text != "" {
			l.alarms.Happened(now, alarm.Loss, l.name, l.name+": "+text)
			g.missed(l.source(), edgeguard.LinesLost, lines)
		}
		if text := checks.Dropped(&l.seen, &seen); text != "" {
			l.alarms.Happened(now, alarm.Loss, l.name+", HAProxy", l.name+": "+text)
		}
		l.seen = seen
	}
}

// checkSilence raises the alarm about logs that deliver nothing.
func (g *logGroup) checkSilence(now time.Time) {
	var all uint64
	for _, source := range g.handedIn() {
		all += source.Events
	}
	for _, l := range g.All() {
		is := l.progress()
		is.Others = all - min(all, is.Events)
		if text := l.silence.Look(now, is); text != "" {
			l.alarms.Begins(now, alarm.Silent, l.name, l.name+": "+text)
		} else {
			l.alarms.Ends(alarm.Silent, l.name)
		}
	}
}

func (s *logSource) Key() string {
	return fmt.Sprintf("log %+v %d %s %q", s.config, s.connections, s.stats, s.others)
}
func (s *logSource) Alarm() (string, string) { return alarm.Log, s.name }

// Report implements service.
func (s *logSource) Report(to *admin.Stats) {
	f := s.figures()
	became := s.pipeline.Answers.Of(s.source())
	f.TurnedAway, f.Served = became.TurnedAway, became.Served
	to.Events.Served += became.Served
	to.Logs = append(to.Logs, f)
	to.Sources = append(to.Sources, admin.Source{Name: s.source(), Kind: "log", At: s.name, Events: f.Parsed})
}

// Run reads the log until ctx is done.
func (s *logSource) Run(ctx context.Context, ready func()) error {
	format, err := logline.ParseFormat(s.config.Format)
	if err != nil {
		return fmt.Errorf("log %s: %w", s.name, err)
	}
	zone, err := s.config.Location()
	if err != nil {
		return fmt.Errorf("log %s: zone: %w", s.name, err)
	}
	live := accesslog.Live{
		Format: format,
		Zone:   zone,
		Emit:   s.config.Emit,
		Now:    s.clock.Now,
		Local:  s.clock.Local,
		Decide: s.pipeline.Batches(s.source(), s.config.RefusedWith...), Uncounted: s.uncounter(s.source()),
		Trouble: func(at string, err error) {
			about := s.name + ", " + at
			kind, other := alarm.Log, alarm.LogMissing
			if errors.Is(err, fs.ErrNotExist) {
				kind, other = other, kind
			}
			s.alarms.Recovers(other, about)
			if err != nil {
				s.alarms.Begins(s.clock.Now(), kind, about, err.Error())
			} else {
				s.alarms.Recovers(kind, about)
			}
		},
	}
	if s.config.Format == haproxyLog {
		live.Needs = func() edgeguard.Field { return s.needs() & format.Fields() }
	}
	if s.config.File != "" {
		return s.follow(ctx, live, ready)
	}
	return s.receive(ctx, live, ready)
}

// haproxyLog is the format whose lines have some fields by one log-format only.
const haproxyLog = "haproxy"

// needs returns what the rules in force ask of the log's events.
func (s *logSource) needs() (fields edgeguard.Field) {
	c := s.pipeline.Current().Config
	for i := range c.Rules.Meters {
		if m := &c.Rules.Meters[i]; m.Kind&s.config.Emit != 0 {
			fields |= m.Fields()
		}
	}
	return fields
}

// follow follows a file from where it was last read.
func (s *logSource) follow(ctx context.Context, live accesslog.Live, ready func()) error {
	from, restored := s.positions.get(s.config.File)
	c := accesslog.FollowConfig{Live: live, File: s.config.File, From: from, Restored: restored, Gate: s.cut, Placed: s.placed}
	var f follower
	var err error
	if s.config.IsPattern() {
		f, err = accesslog.NewPatternFollower(accesslog.PatternConfig{FollowConfig: c, Saved: s.positions.matching(s), Except: s.others})
	} else {
		f, err = accesslog.NewFollower(c)
	}
	if err != nil {
		return err
	}
	ready()
	s.log.Info("following", "log", s.name, "format", s.config.Format)
	s.follower.Store(&f)
	defer func() {
		s.positions.replace(s, f.Positions())
		s.follower.Store(nil)
	}()
	return ended(ctx, f.Run(ctx))
}

// receive reads lines from a socket.
func (s *logSource) receive(ctx context.Context, live accesslog.Live, ready func()) error {
	address := s.config.Listen.String()
	if s.config.Listen.Network == "tcp" {
		address = "tcp:" + address
	}
	l, err := accesslog.Listen(accesslog.ListenConfig{
		Live: live, Address: address, Mode: s.config.Mode, Group: s.config.Group, MaxConnections: s.connections,
		From: s.config.From, ReceiveBuffer: int(s.config.ReceiveBuffer),
	})
	if err != nil {
		return err
	}
	ready()
	s.log.Info("listening", "for", "log lines", "at", s.name, "format", s.config.Format)
	s.listener.Store(l)
	defer s.listener.Store(nil)
	if queue := l.Stats().Queue; queue > 0 && queue < accesslog.LeastQueue {
		s.log.Warn("the kernel's queue is short: lines that come in a burst are lost; see net.unix.max_dgram_qlen in docs/operations.md", "log", s.name, "holds", queue, "better", accesslog.LeastQueue)
	}
	beside, end := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { s.followDropped(beside) })
	defer asking.Wait()
	defer end()
	return ended(ctx, l.Run(ctx))
}

// droppedEvery is how often HAProxy is asked how many lines it dropped, and askedFor how
// long that may take.
const droppedEvery, askedFor = 5 * time.Second, time.Second

// followDropped adds up the lines that HAProxy could not send, until ctx is done. A socket
// that does not answer is the enforcer's alarm.
func (s *logSource) followDropped(ctx context.Context) {
	var drops enforce.HAProxyDrops
	for s.stats != "" {
		asking, end := context.WithTimeout(ctx, askedFor)
		if p, err := enforce.AskHAProxy(asking, s.stats); err == nil {
			s.dropped.Add(drops.Since(p))
		}
		if end(); !sleep.For(ctx, droppedEvery) {
			return
		}
	}
}

// ended returns an error for a sensor that stopped before ctx was done.
func ended(ctx context.Context, err error) error {
	if err == nil && ctx.Err() == nil {
		return errors.New("the sensor stopped unexpectedly; restarting")
	}
	return err
}

// figures returns the log's figures. The kernel counts what UDP lost, and does not
// count what a unix datagram socket lost: each time that its queue was full was one
// line at least. HAProxy counts what it could not send, which is at most so many.
func (s *logSource) figures() admin.Log {
	f := admin.Log{Name: s.name}
	if follower := s.follower.Load(); follower != nil {
		t := (*follower).Stats()
		f.Files, f.Lines, f.Last, f.Age = t.Files, t.Lines, t.Last, t.Age.Seconds()
		f.Unread = texts(t.Unread)
		f.Parsed, f.Skipped, f.Suppressed, f.Late, f.Early = t.Events, t.Skipped, t.Suppressed, t.Late, t.Early
		f.Behind, f.LostBytes = t.Behind, t.Lost
		f.Rotations, f.Truncations, f.Gaps = t.Rotations, t.Truncations, t.Gaps
	}
	if listener := s.listener.Load(); listener != nil {
		t := listener.Stats()
		f.Lines, f.Last, f.Age = t.Lines, t.Last, t.Age.Seconds()
		f.Parsed, f.Skipped, f.Lost, f.Refused = t.Events, t.Skipped, t.Full+t.Dropped, t.Foreign
		f.Unread = texts(t.Unread)
		f.Suppressed, f.Late, f.Early, f.Dropped = t.Suppressed, t.Late, t.Early, s.dropped.Load()
	}
	return f
}

// texts says whose lines are not understood.
func texts(unread []scan.Unread) (all []string) {
	for _, u := range unread {
		all = append(all, u.String())
	}
	return all
}

// progress returns what is known of the log now.
func (s *logSource) progress() checks.Progress {
	zone, _ := s.config.Location() // Run has read it
	zone = cmp.Or(zone, time.Local)
	if f := s.follower.Load(); f != nil {
		t := (*f).Stats()
		info, err := os.Stat(s.config.File)
		return checks.Progress{Events: t.Events, Lines: t.Lines - t.Quiet, Unread: t.Unread, Behind: t.Behind, Off: t.Off, Zone: zone, Example: t.Example(), Empty: t.Files == 0 && (err != nil || info.Size() == 0)}
	}
	if l := s.listener.Load(); l != nil {
		t := l.Stats()
		return checks.Progress{Events: t.Events, Lines: t.Lines - t.Quiet, Unread: t.Unread, Off: t.Off, Zone: zone, Example: t.Example(), Empty: true}
	}
	return checks.Progress{Empty: true}
}
