package accesslog

import (
	"fmt"
	"sync"
	"time"

	"edgeguard"
)

// inlet makes events of pages of live lines. It is used by one goroutine at a
// time, but for stats.
type inlet struct {
	live     *Live
	name     string // of the file or socket, for people
	format   *Format
	lines    lineParser
	troubles troubles
	misses   uint64 // lines skipped since the last event

	mu    sync.Mutex // guards stats
	stats LiveStats
}

// misfit is how many lines in a row must be skipped before the format is said
// not to fit: a stranger's broken line is no reason to wake anybody.
const misfit = 20

func newInlet(l *Live, name string) *inlet {
	in := &inlet{live: l, name: name, troubles: troubles{tell: l.Trouble}}
	if l.Format != nil {
		in.use(l.Format)
	}
	return in
}

func (in *inlet) use(f *Format) {
	in.format = f
	in.lines = lineParser{parser: f.start(&Options{Zone: in.live.Zone}), name: in.name}
}

// find decides the format by lines of the log, if none was given.
func (in *inlet) find(lines []byte) bool {
	if in.format != nil {
		return true
	}
	f, err := detect(lines, &Options{Zone: in.live.Zone})
	if err != nil {
		in.troubles.set(atFormat, fmt.Errorf("%s: %w", in.name, err))
		return false
	}
	in.use(f)
	return true
}

// parse gives the events of a page, ready to be decided at now.
func (in *inlet) parse(p *page) (now time.Time, events []edgeguard.Event) {
	now = in.live.Now()
	if !in.find(p.text) {
		in.mu.Lock()
		defer in.mu.Unlock()
		n := uint64(len(firstLines(p.text, len(p.text))))
		in.stats.Lines += n
		in.stats.Skipped += n
		return now, nil
	}
	if in.lines.shown = 0; len(in.stats.Shown) == maxShown {
		in.lines.shown = maxShown - 1 // one more of each page: examples are not free
	}
	in.lines.parse(p)
	in.judge(p)
	return now, in.stamp(now, p)
}

// judge says so when the lines are not of the format.
func (in *inlet) judge(p *page) {
	if len(p.events) > 0 {
		in.misses = 0
		in.troubles.set(atFormat, nil)
		return
	}
	before := in.misses
	if in.misses += p.skipped; before < misfit && in.misses >= misfit && len(p.shown) > 0 {
		in.troubles.set(atFormat, fmt.Errorf("%s: none of the last %d lines is of the format %s, such as %q: %s; give the log's own format",
			in.name, in.misses, in.format, p.shown[0].Text, p.shown[0].Reason))
	}
}

// stamp keeps the kinds that are wanted, moves the events to the node's time,
// and counts.
func (in *inlet) stamp(now time.Time, p *page) []edgeguard.Event {
	var late, early uint64
	kept, sec := 0, now.Unix()
	oldest, newest := sec-int64(in.live.Late/time.Second), time.Time{}
	for i := range p.events {
		ev := &p.events[i]
		if in.live.Emit != 0 {
			ev.Kind &= in.live.Emit
			ev.Verified &= in.live.Emit
			if ev.Kind == 0 {
				continue
			}
		}
		if in.live.Local != nil {
			ev.Time = in.live.Local(ev.Time)
		}
		switch at := ev.Time.Unix(); {
		case at > sec:
			if ev.Time = now; at > sec+1 {
				early++
			}
		case at <= oldest:
			late++
		}
		if ev.Time.After(newest) {
			newest = ev.Time
		}
		if kept != i {
			p.events[kept] = *ev
		}
		kept++
	}
	p.events = p.events[:kept]
	in.count(p, late, early, max(0, now.Sub(newest)))
	return p.events
}

func (in *inlet) count(p *page, late, early uint64, age time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := &in.stats
	s.Lines += p.lines
	s.Events += uint64(len(p.events))
	s.Skipped += p.skipped
	s.Late += late
	s.Early += early
	if len(p.events) > 0 {
		s.Age = age
	}
	for _, skipped := range p.shown {
		skipped.Line = 0 // it counts from where the reading began, which says nothing
		if len(s.Shown) == maxShown {
			copy(s.Shown, s.Shown[1:])
			s.Shown = s.Shown[:maxShown-1]
		}
		s.Shown = append(s.Shown, skipped)
	}
}

func (in *inlet) read() LiveStats {
	in.mu.Lock()
	s := in.stats
	s.Shown = append([]Skipped(nil), s.Shown...)
	in.mu.Unlock()
	s.Troubles, s.Err = in.troubles.all()
	return s
}
