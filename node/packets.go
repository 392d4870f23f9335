package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
	"edgeguard/sensor/packet"
)

// packetSource is one interface that is listened to: a service.
type packetSource struct {
	logDeps
	live    packet.LiveOptions
	options packet.Options

	mu     sync.Mutex // guards reader and past
	reader *packet.Reader
	past   packetFigures // of the readers before

	dropped uint64 // a second ago: housekeeping's
}

// packetFigures count packets.
type packetFigures struct{ events, malformed, dropped uint64 }

// packetGroup is the interfaces of a node.
type packetGroup struct {
	logDeps
	supervisor.Group[*packetSource]
}

// Settle makes the interfaces that are listened to those of the config.
func (g *packetGroup) Settle(ctx context.Context, c *config.Config) {
	var want []*packetSource
	if p := c.Sensors.Packet; p != nil {
		options := packet.Options{Kinds: p.Kinds, Local: p.Inside, Answers: c.Rules.NeedsAnswers()}
		for _, name := range p.Interfaces {
			live := packet.LiveOptions{Interface: name, Promiscuous: p.Promiscuous, Memory: int(p.Ring)}
			want = append(want, &packetSource{logDeps: g.logDeps, live: live, options: options})
		}
	}
	g.Group.Settle(ctx, want)
}

// check raises the alarm about packets that were dropped.
func (g *packetGroup) check(now time.Time) {
	for _, s := range g.All() {
		dropped := s.figures().dropped
		if more := dropped - s.dropped; more > 0 {
			s.alarms.Happened(now, alarm.Loss, s.source(), fmt.Sprintf("%s: %s dropped, because the ring was full: raise sensors.packet.ring, name fewer kinds, or give edgeguard more of a processor",
				s.source(), words.Plural(more, "packet was", "packets were")))
		}
		s.dropped = dropped
	}
}

func (s *packetSource) source() string          { return "packets " + s.live.Interface }
func (s *packetSource) Key() string             { return fmt.Sprintf("packets %+v %+v", s.live, s.options) }
func (s *packetSource) Alarm() (string, string) { return alarm.Interface, s.source() }

// Report implements service.
func (s *packetSource) Report(to *admin.Stats) {
	f := s.figures()
	to.Sources = append(to.Sources, admin.Source{
		Name: s.source(), Kind: "packets", At: s.live.Interface, Events: f.events, Malformed: f.malformed, Dropped: f.dropped,
	})
}

func (s *packetSource) figures() packetFigures {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.past
	if s.reader != nil {
		is := s.reader.Stats()
		f.events, f.malformed, f.dropped = f.events+is.Events, f.malformed+is.Malformed, f.dropped+is.Dropped
	}
	return f
}

// Run listens until ctx is done or the interface goes away.
func (s *packetSource) Run(ctx context.Context, ready func()) error {
	options := s.options
	options.Seed = rand.Uint64()
	r, err := packet.Live(s.live, options)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = r.Close() })()
	ready()
	s.log.Info("listening", "for", "packets", "at", s.live.Interface, "kinds", options.Kinds)
	s.mu.Lock()
	s.reader = r
	s.mu.Unlock()
	err = s.decide(r)
	_ = r.Close()
	figures := s.figures()
	s.mu.Lock()
	s.past, s.reader = figures, nil
	s.mu.Unlock()
	return ended(ctx, err)
}

// decide decides what a reader reads, to its end.
func (s *packetSource) decide(r *packet.Reader) error {
	decide := s.pipeline.Batches(s.source())
	for {
		events, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		now := s.clock.Now()
		for i := range events {
			if events[i].Time = s.clock.Local(events[i].Time); events[i].Time.After(now) {
				events[i].Time = now
			}
		}
		decide(now, events)
	}
}
