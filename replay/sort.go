package replay

import (
	"slices"
	"strings"

	"edgeguard"
)

// sortedBatch is how many events a sorted source hands over at once.
const sortedBatch = 1024

// Sort reads all of a source and gives its events ordered by time; events of
// the same time keep their order. It holds every event in memory, about 200
// bytes and the texts of each. An error of the source comes after the events
// that were read before it.
func Sort(source Source) Source { return &sorted{source: source} }

type sorted struct {
	source Source
	read   bool
	events []edgeguard.Event
	err    error
}

func (s *sorted) Next() ([]edgeguard.Event, error) {
	if !s.read {
		s.collect()
	}
	if len(s.events) == 0 {
		return nil, s.err
	}
	n := min(len(s.events), sortedBatch)
	batch := s.events[:n]
	s.events = s.events[n:]
	return batch, nil
}

// collect reads the source to its end. Texts repeat from line to line, so
// equal ones are kept once.
func (s *sorted) collect() {
	s.read = true
	texts := make(map[string]string)
	keep := func(text *string) {
		if *text == "" {
			return
		}
		kept, ok := texts[*text]
		if !ok {
			kept = strings.Clone(*text)
			texts[kept] = kept
		}
		*text = kept
	}
	for s.err == nil {
		var batch []edgeguard.Event
		batch, s.err = s.source.Next()
		for _, ev := range batch {
			for _, text := range []*string{&ev.Host, &ev.Method, &ev.Path, &ev.Agent, &ev.Node} {
				keep(text)
			}
			s.events = append(s.events, ev)
		}
	}
	slices.SortStableFunc(s.events, func(a, b edgeguard.Event) int { return a.Time.Compare(b.Time) })
}
