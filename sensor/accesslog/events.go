package accesslog

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/logline"
)

// inlet makes events of pages of live lines. It is used by one goroutine at a
// time, except for stats.
type inlet struct {
	live    *Live
	name    string // of the file or socket, for people
	format  *logline.Format
	streams bool // lines must be read to their ends, however long
	// forgeable says that strangers could have sent the lines: none of their
	// addresses is verified.
	forgeable bool
	parsing   parsing
	troubles  troubles
	misses    uint64          // lines skipped since the last event
	known     edgeguard.Field // of any event so far
	had       int             // events, until that says something

	mu    sync.Mutex // guards stats
	stats LiveStats
}

// misfit is how many lines in a row must be skipped before the format is reported
// not to fit: one broken line does not raise an alarm.
const misfit = 20

func newInlet(l *Live, name string) *inlet {
	in := &inlet{live: l, name: name, troubles: troubles{tell: l.Trouble}}
	if l.Format != nil {
		in.use(l.Format)
	}
	return in
}

func (in *inlet) use(f *logline.Format) {
	in.format = f
	in.streams = f.Parser(in.name, in.zone()).Streams()
}

// find detects the format by lines of the log, if none is set.
func (in *inlet) find(lines []byte) bool {
	if in.format != nil {
		return true
	}
	f, err := logline.Detect(lines, in.zone())
	if err == nil && f.HasHeader() {
		err = errDelimited
	}
	if err == nil && f.IsService() {
		err = fmt.Errorf("its lines look like those of %s: if that is so, set format: %s", f, f)
	}
	if err == nil && f.Caution() != "" {
		err = fmt.Errorf("its lines look like format %s, but %s: if that is so, set format: %s", f, f.Caution(), f)
	}
	if err != nil {
		in.troubles.set(atFormat, fmt.Errorf("%s: %w", in.name, err))
		return false
	}
	in.use(f)
	return true
}

// parse returns the events of a page, ready to be decided at now.
func (in *inlet) parse(p *page) (now time.Time, events []edgeguard.Event) {
	now = in.live.Now()
	if p.Long != nil {
		p.Text = p.Long.Pass(p.Text)
	}
	if !in.find(p.Text) {
		in.lose(p)
		return now, nil
	}
	examples := logline.MaxShown
	if len(in.stats.Shown) == logline.MaxShown {
		examples = 1 // one more of each page: they are not free
	}
	own := &in.parsing
	if p.own != nil {
		own = p.own
	}
	if own.lines == nil {
		own.lines = in.format.Parser(in.name, in.zone())
	}
	own.lines.ShowAtMost(examples)
	own.lines.SetNow(now, in.live.Zone != nil)
	own.lines.Parse(&p.Chunk)
	in.judge(p)
	return now, in.stamp(now, p)
}

// zone returns that of times that name none.
func (in *inlet) zone() *time.Location { return cmp.Or(in.live.Zone, time.Local) }

// lose counts the lines of a page whose format is not known yet.
func (in *inlet) lose(p *page) {
	n := len(logline.FirstLines(p.Text, len(p.Text)))
	p.Uncounted = slices.Grow(p.Uncounted[:0], n)[:n]
	for i := range p.Uncounted {
		p.Uncounted[i] = edgeguard.Uncounted{Reason: edgeguard.LineMisfit}
	}
	if p.GoesOn {
		p.Long.Skip()
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stats.Lines += uint64(n)
	in.stats.Skipped += uint64(n)
}

// tell reports which requests of the page are not counted.
func (in *inlet) tell(now time.Time, p *page) {
	if in.live.Uncounted == nil || len(p.Uncounted) == 0 {
		return
	}
	for i := range p.Uncounted {
		u := &p.Uncounted[i]
		if u.Time.IsZero() {
			continue
		}
		if in.live.Local != nil {
			u.Time = in.live.Local(u.Time)
		}
		if u.Time.After(now) {
			u.Time = now
		}
	}
	in.live.Uncounted(now, p.Uncounted)
}

// enoughEvents is after how many events without a field it is said that they lack it: a client may
// leave out some.
const enoughEvents = 100

// judgeFields says so when no line has what rules ask for.
func (in *inlet) judgeFields(events []edgeguard.Event) {
	if in.live.Needs == nil {
		return
	}
	for i := range events {
		in.known |= events[i].Known
	}
	in.had = min(in.had+len(events), enoughEvents)
	lack := in.live.Needs() &^ in.known
	switch {
	case lack == 0:
		in.troubles.set(atFields, nil)
	case in.had == enoughEvents:
		in.troubles.set(atFields, fmt.Errorf("%s: no line of it has %v, and rules that ask for that count nothing of it: have the server write it, HAProxy as edgeguard snippets haproxy-peers prints it", in.name, lack))
	}
}

// judge says so when the lines are not of the format.
func (in *inlet) judge(p *page) {
	if len(p.Events) > 0 {
		in.misses = 0
		in.troubles.set(atFormat, nil)
		in.judgeFields(p.Events)
		return
	}
	before := in.misses
	if in.misses += p.Skipped; before < misfit && in.misses >= misfit && len(p.Shown) > 0 {
		in.troubles.set(atFormat, fmt.Errorf("%s: none of the last %d lines matches the format %s, such as %q: %s; set the log's own format",
			in.name, in.misses, in.format, p.Shown[0].Text, p.Shown[0].Reason))
	}
}

// stamp keeps the kinds that are wanted, moves the events to the node's time,
// and counts.
func (in *inlet) stamp(now time.Time, p *page) []edgeguard.Event {
	var late, early uint64
	kept, sec := 0, now.Unix()
	oldest, newest := sec-int64(in.live.Late/time.Second), time.Time{}
	for i := range p.Events {
		ev := &p.Events[i]
		if in.forgeable {
			ev.Verified = 0
		}
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
			p.Events[kept] = *ev
		}
		kept++
	}
	p.Events = p.Events[:kept]
	in.count(p, late, early, newest, now)
	return p.Events
}

func (in *inlet) count(p *page, late, early uint64, newest, now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := &in.stats
	s.Lines += p.Lines
	s.Events += uint64(len(p.Events))
	s.Skipped += p.Skipped
	s.Partial += p.Partial
	s.Suppressed += p.Suppressed
	s.Late += late
	s.Early += early
	s.Off = p.Off
	s.Quiet += p.Quiet
	s.Unread = p.Unread
	if len(s.Others) == 0 {
		s.Others = p.Others
	}
	if len(p.Events) > 0 {
		s.Age, s.Last = max(0, now.Sub(newest)), now
	}
	for _, skipped := range p.Shown {
		skipped.Line = 0 // it counts from where the reading began, which says nothing
		if len(s.Shown) == logline.MaxShown {
			copy(s.Shown, s.Shown[1:])
			s.Shown = s.Shown[:logline.MaxShown-1]
		}
		s.Shown = append(s.Shown, skipped)
	}
}

func (in *inlet) read() LiveStats {
	in.mu.Lock()
	s := in.stats
	s.Shown = append([]logline.Skipped(nil), s.Shown...)
	in.mu.Unlock()
	s.Troubles, s.Err = in.troubles.all()
	return s
}
