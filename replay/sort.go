package replay

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unsafe"

	"edgeguard"
)

const (
	// sortedBatch is how many events a sorted source returns at a time.
	sortedBatch = 1024
	// sortedPart is how many events are stored together: a slice that grows is
	// copied, and then needs its memory twice.
	sortedPart = 1 << 14
	// eventBytes is what an event takes while it is sorted, and textBytes what a
	// text takes besides its own length.
	eventBytes = int64(unsafe.Sizeof(edgeguard.Event{})) + 4
	textBytes  = 96
	// mostSorted is how many events can be numbered.
	mostSorted = 1<<32 - 1
)

// ErrTooLarge is returned by a [SortByTime] whose events do not fit.
var ErrTooLarge = errors.New("the events do not fit into the memory for sorting")

// SortByTime reads all of a source and returns its events ordered by time; events of
// the same time keep their order. It keeps every event in memory, about 200
// bytes and its texts, at most limit bytes; more is ErrTooLarge before the
// first event. 0 for no limit. An error of the source comes after the events
// that were read before it.
func SortByTime(source Source, limit int64) Source {
	if limit <= 0 {
		limit = 1<<63 - 1
	}
	return &sorted{source: source, limit: limit, texts: make(map[string]string)}
}

type sorted struct {
	source Source
	limit  int64
	used   int64

	parts [][]edgeguard.Event
	order []uint32 // the events' numbers, in the order of their times; those to come
	texts map[string]string
	batch []edgeguard.Event
	err   error
}

func (s *sorted) Next() ([]edgeguard.Event, error) {
	if s.batch == nil {
		s.batch = make([]edgeguard.Event, sortedBatch)
		s.collect()
	}
	if len(s.order) == 0 {
		return nil, s.err
	}
	n := min(len(s.order), sortedBatch)
	for i, number := range s.order[:n] {
		s.batch[i] = *s.at(number)
	}
	s.order = s.order[n:]
	return s.batch[:n], nil
}

// at returns the event of a number.
func (s *sorted) at(number uint32) *edgeguard.Event {
	return &s.parts[number/sortedPart][number%sortedPart]
}

// collect reads the source to its end and sorts.
func (s *sorted) collect() {
	read := uint64(0)
	for s.err == nil {
		var batch []edgeguard.Event
		batch, s.err = s.source.Next()
		for i := range batch {
			s.keep(&batch[i])
		}
		read += uint64(len(batch))
		if s.used > s.limit || read > mostSorted {
			s.parts, s.err = nil, ErrTooLarge
			return
		}
	}
	s.texts = nil
	s.order = make([]uint32, read)
	for i := range s.order {
		s.order[i] = uint32(i)
	}
	slices.SortFunc(s.order, func(a, b uint32) int {
		return cmp.Or(s.at(a).Time.Compare(s.at(b).Time), cmp.Compare(a, b))
	})
}

// keep copies an event, which must outlive its batch.
func (s *sorted) keep(event *edgeguard.Event) {
	last := len(s.parts) - 1
	if last < 0 || len(s.parts[last]) == sortedPart {
		s.parts = append(s.parts, make([]edgeguard.Event, 0, sortedPart))
		s.used += sortedPart * eventBytes
		last++
	}
	ev := *event
	ev.KeepTexts(s.text)
	s.parts[last] = append(s.parts[last], ev)
}

// text copies a text, which must outlive its batch. Texts repeat from line to
// line, so equal ones are stored once.
func (s *sorted) text(text string) string {
	if text == "" {
		return ""
	}
	kept, ok := s.texts[text]
	if !ok {
		kept = strings.Clone(text)
		s.texts[kept] = kept
		s.used += textBytes + int64(len(kept))
	}
	return kept
}
