package accesslog

import (
	"math"
	"strings"
	"time"

	"edgeguard"
)

// Source returns batches of events in a file's order: a [Reader] or a
// packet reader. A batch is valid until the next call; the end is
// io.EOF.
type Source interface {
	Next() ([]edgeguard.Event, error)
}

// Strays passes on the events of a source, except those whose timestamp is alone
// in being far ahead. A replay's clock is the newest time seen: one line dated 2099
// would make every later line too old to count.
//
// An event more than a window ahead of the newest is held against the events
// that follow it. A gap in the traffic, or a shuffled file, has followers near
// it or beyond; a stray has none, or next to none. At the end of the input,
// where nothing follows, it passes: it can harm nothing there.
//
// It allocates only when such an event is at the end of a batch. It is not
// safe for concurrent use.
type Strays struct {
	src     Source
	window  int64 // seconds
	dropped func(number uint64, ev *edgeguard.Event)

	newest int64 // unix seconds; the comparison is made for every event
	// earlier is what was copied of earlier batches to await followers; then
	// comes batch. Everything before pos has been passed on or dropped.
	earlier, batch []edgeguard.Event
	pos            int
	number         uint64 // of the event at pos, from 0
	err            error
}

const (
	// lookAhead is how many events are looked at to judge one, and
	// 1/followShare of them must bear it out: four strays in a row
	// are still strays, and a file shuffled over six windows passes.
	lookAhead   = 64
	followShare = 16
)

// NewStrays wraps a source. The window counts in whole seconds. dropped is called
// with each event that is left out and its number in the source, counted from 0;
// nil disables it.
func NewStrays(src Source, window time.Duration, dropped func(number uint64, ev *edgeguard.Event)) *Strays {
	if dropped == nil {
		dropped = func(uint64, *edgeguard.Event) {}
	}
	return &Strays{src: src, window: int64(window / time.Second), dropped: dropped, newest: math.MinInt64 / 2}
}

// Next returns the next events, without the strays. They are valid until the
// next call.
func (s *Strays) Next() ([]edgeguard.Event, error) {
	for {
		if out := s.pass(); len(out) > 0 {
			return out, nil
		}
		if s.err != nil && s.pos == len(s.earlier)+len(s.batch) {
			return nil, s.err
		}
		s.fetch()
	}
}

// pass returns the longest run of events at pos that may go on, within held or
// within the batch.
func (s *Strays) pass() []edgeguard.Event {
	part, start := s.earlier, s.pos
	if start >= len(s.earlier) {
		part, start = s.batch, start-len(s.earlier)
	}
	for i := start; i < len(part); i++ {
		ev := &part[i]
		at := ev.Time.Unix()
		if at-s.newest <= s.window {
			s.newest = max(s.newest, at)
			continue
		}
		switch s.judge(s.pos + i - start) {
		case keep:
			s.newest = at
		case unsure:
			return s.advance(part[start:i])
		case drop:
			out := s.advance(part[start:i])
			if len(out) == 0 {
				s.dropped(s.number, ev)
				s.advance(part[i : i+1])
				start = i + 1
				continue
			}
			return out // the stray is dropped by the next call
		}
	}
	return s.advance(part[start:])
}

func (s *Strays) advance(out []edgeguard.Event) []edgeguard.Event {
	s.pos += len(out)
	s.number += uint64(len(out))
	return out
}

type judgement uint8

const (
	keep judgement = iota
	drop
	unsure // more events must be seen
)

// judge looks at what follows the event at index i of held and batch.
func (s *Strays) judge(i int) judgement {
	total := len(s.earlier) + len(s.batch)
	if i+lookAhead >= total && s.err == nil {
		return unsure
	}
	near := s.at(i).Time.Unix() - s.window
	followers, bearing, against := 0, 0, 0
	for j := i + 1; j < total && j <= i+lookAhead; j++ {
		followers++
		switch at := s.at(j).Time.Unix(); {
		case at >= near:
			bearing++
		case at >= s.newest: // time goes on without it
			against++
		}
	}
	lastLines := followers < lookAhead
	if bearing*followShare >= followers || lastLines && against == 0 {
		return keep
	}
	return drop
}

func (s *Strays) at(i int) *edgeguard.Event {
	if i < len(s.earlier) {
		return &s.earlier[i]
	}
	return &s.batch[i-len(s.earlier)]
}

// fetch takes the next batch, after copying what is left of the one before.
func (s *Strays) fetch() {
	var left []edgeguard.Event
	for i := s.pos; i < len(s.earlier)+len(s.batch); i++ {
		left = append(left, clone(s.at(i)))
	}
	s.earlier, s.pos = left, 0
	s.batch, s.err = s.src.Next()
}

// clone copies an event with its strings, which would die with its batch.
func clone(ev *edgeguard.Event) edgeguard.Event {
	c := *ev
	c.KeepTexts(strings.Clone)
	return c
}
