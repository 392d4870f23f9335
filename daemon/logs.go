package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/sensor/accesslog"
)

// logSource is one log that is followed or received.
type logSource struct {
	config config.AccessLog
	name   string
	// One of them, while it runs.
	follower atomic.Pointer[accesslog.Follower]
	listener atomic.Pointer[accesslog.Listener]
	// seen is how it stood a second ago: keepHouse's.
	seen admin.Log
}

// positions is how far the followed logs are, also of those that just ended.
// Safe for concurrent use.
type positions struct {
	mu sync.Mutex
	of map[string]accesslog.Position // by file
}

func (p *positions) get(file string) accesslog.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[file]
}

func (p *positions) set(file string, at accesslog.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = make(map[string]accesslog.Position)
	}
	p.of[file] = at
}

// wantLogs gives the logs of the config.
func (n *Node) wantLogs(c *config.Config) []part {
	var want []part
	for _, l := range c.Sensors.AccessLog {
		s := &logSource{config: l, name: l.File}
		if l.File == "" {
			s.name = l.Listen.String()
		}
		want = append(want, part{
			key:   fmt.Sprintf("log %+v", l),
			shows: s,
			run: func(ctx context.Context) {
				n.keepTrying(ctx, alarmLog, s.name, func(ctx context.Context, works func()) error {
					return n.readLog(ctx, s, works)
				})
			},
		})
	}
	return want
}

// readLog reads one log until ctx is done.
func (n *Node) readLog(ctx context.Context, s *logSource, works func()) error {
	format, err := accesslog.ParseFormat(s.config.Format)
	if err != nil {
		return fmt.Errorf("log %s: %w", s.name, err)
	}
	live := accesslog.Live{
		Format: format,
		Emit:   s.config.Emit,
		Now:    n.clock.Now,
		Local:  n.clock.Local,
		Decide: n.batches("log " + s.name),
		Trouble: func(at string, err error) {
			about := s.name + ", " + at
			if err != nil {
				n.alarms.begins(n.clock.Now(), alarmLog, about, err.Error())
			} else if n.alarms.ends(alarmLog, about) {
				n.log.Info("works again", "alarm", alarmLog, "about", about)
			}
		},
	}
	if s.config.File != "" {
		return n.follow(ctx, s, live, works)
	}
	return n.receive(ctx, s, live, works)
}

// follow follows a file from where it was left.
func (n *Node) follow(ctx context.Context, s *logSource, live accesslog.Live, works func()) error {
	f, err := accesslog.NewFollower(accesslog.FollowConfig{
		Live: live, File: s.config.File, From: n.positions.get(s.config.File), Gate: n.cut.RLocker(), Placed: n.state.touch,
	})
	if err != nil {
		return err
	}
	works()
	n.log.Info("following", "log", s.name, "format", s.config.Format)
	s.follower.Store(f)
	defer func() {
		n.positions.set(s.config.File, f.Position())
		s.follower.Store(nil)
	}()
	return ended(ctx, f.Run(ctx))
}

// receive takes lines at a socket.
func (n *Node) receive(ctx context.Context, s *logSource, live accesslog.Live, works func()) error {
	address := s.config.Listen.String()
	if s.config.Listen.Network == "tcp" {
		address = "tcp:" + address
	}
	l, err := accesslog.Listen(accesslog.ListenConfig{Live: live, Address: address})
	if err != nil {
		return err
	}
	works()
	n.log.Info("listening", "for", "log lines", "at", s.name, "format", s.config.Format)
	s.listener.Store(l)
	defer s.listener.Store(nil)
	return ended(ctx, l.Run(ctx))
}

// ended makes an error of a sensor that ends by itself.
func ended(ctx context.Context, err error) error {
	if err == nil && ctx.Err() == nil {
		return errors.New("the sensor ended by itself: it is started again")
	}
	return err
}

// batches gives one source the decider of its batches. Nobody waits for the
// verdicts, so they are counted and dropped.
func (n *Node) batches(source string) func(now time.Time, events []edgeguard.Event) {
	var nows []time.Time
	var verdicts []edgeguard.Verdict
	part := &n.gate[n.sources.Add(1)%uint32(len(n.gate))].RWMutex
	return func(now time.Time, events []edgeguard.Event) {
		for len(nows) < len(events) {
			nows, verdicts = append(nows, now), append(verdicts, edgeguard.Verdict{})
		}
		for i := range events {
			nows[i] = now
		}
		part.RLock()
		defer part.RUnlock()
		n.core.Load().detector.DecideBatch(nows[:len(events)], events, verdicts[:len(events)])
		n.rulings.batch(source, verdicts[:len(events)])
	}
}

// knownPositions gives how far the logs of the config are: of those that are
// followed now, the present one.
func (n *Node) knownPositions() map[string]accesslog.Position {
	known := make(map[string]accesslog.Position)
	for _, l := range n.core.Load().config.Sensors.AccessLog {
		if l.File != "" {
			known[l.File] = n.positions.get(l.File)
		}
	}
	for _, s := range shows[*logSource](&n.logs) {
		if f := s.follower.Load(); f != nil {
			known[s.config.File] = f.Position()
		}
	}
	return known
}
