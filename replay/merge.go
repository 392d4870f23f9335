package replay

import (
	"errors"
	"io"
	"time"

	"edgeguard"
)

// Merge returns the events of several sources as one, by time: always the event
// of the source whose next event is the oldest. The order inside a source is
// kept, whatever its times. If a source fails, the others are read to their
// ends, and the first error comes last.
func Merge(sources ...Source) Source {
	if len(sources) == 1 {
		return sources[0]
	}
	m := &merged{}
	for _, source := range sources {
		m.heads = append(m.heads, &mergeHead{source: source})
	}
	return m
}

type merged struct {
	heads []*mergeHead // those that are not at their end
	err   error
}

// mergeHead is a source with the rest of its current batch.
type mergeHead struct {
	source Source
	batch  []edgeguard.Event
}

// Next returns a run of one source's events: as far as they go before the next
// event of any other. The run is a piece of that source's batch, so nothing is
// copied, and it is valid until the next call.
func (m *merged) Next() ([]edgeguard.Event, error) {
	m.fill()
	first := m.oldest(-1)
	if first < 0 {
		if m.err != nil {
			return nil, m.err
		}
		return nil, io.EOF
	}
	head := m.heads[first]
	n := len(head.batch)
	if second := m.oldest(first); second >= 0 {
		limit := m.heads[second].batch[0].Time
		for n = 1; n < len(head.batch) && goesFirst(head.batch[n].Time, limit, first < second); n++ {
		}
	}
	run := head.batch[:n]
	head.batch = head.batch[n:]
	return run, nil
}

// goesFirst reports whether an event of time t goes before one of time limit;
// if they are equal, the one of the earlier source does.
func goesFirst(t, limit time.Time, earlier bool) bool {
	return t.Before(limit) || earlier && t.Equal(limit)
}

// fill reads a batch for every source that has used up its own, and drops those
// that have ended.
func (m *merged) fill() {
	live := m.heads[:0]
	for _, h := range m.heads {
		var err error
		for len(h.batch) == 0 && err == nil {
			h.batch, err = h.source.Next()
		}
		if err != nil && !errors.Is(err, io.EOF) && m.err == nil {
			m.err = err
		}
		if len(h.batch) > 0 {
			live = append(live, h)
		}
	}
	m.heads = live
}

// oldest returns the source with the oldest next event, except one; the first
// of equals; -1 if there is none.
func (m *merged) oldest(except int) int {
	best := -1
	for i, h := range m.heads {
		if i != except && (best < 0 || h.batch[0].Time.Before(m.heads[best].batch[0].Time)) {
			best = i
		}
	}
	return best
}
