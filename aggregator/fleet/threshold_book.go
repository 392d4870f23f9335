package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// thresholdsKept is how long an undo is remembered, as an unblock is: a node that returns within
// a year does not bring back what was undone.
const thresholdsKept = 366 * 24 * time.Hour

// ThresholdEntry is what a node knows of one rule.
type ThresholdEntry struct {
	ThresholdRecord // the last one
	// Held: the record waits for a confirmation on this node, because it would
	// newly refuse Share of the requests. Before decides until then; nil for the
	// config's threshold.
	Held   bool             `json:"held,omitempty"`
	Share  float64          `json:"share,omitempty"`
	Before *ThresholdRecord `json:"before,omitempty"`
	// Ended: the end of the last one is past, and so nothing is in force or waits.
	Ended bool `json:"ended,omitempty"`
	// InForce: it was in force here when the entry was last written.
	InForce bool `json:"in_force,omitempty"`
}

// Decides returns the record that decides on this node; nil for none.
func (e *ThresholdEntry) Decides() *ThresholdRecord {
	r := &e.ThresholdRecord
	if e.Held {
		r = e.Before
	}
	if r == nil || r.IsUndo() || e.Ended {
		return nil
	}
	return r
}

// Waits reports whether it awaits a confirmation on this node.
func (e *ThresholdEntry) Waits() bool { return e.Held && !e.Ended }

// Idle reports whether there is nothing to undo.
func (e *ThresholdEntry) Idle() bool { return e.Ended || e.IsUndo() && !e.Held }

// ThresholdBook is what a node knows of the fleet's thresholds, by rule. It does not change:
// With returns another.
type ThresholdBook struct{ entries map[string]ThresholdEntry }

// EntryOf returns the entry of a rule.
func (b ThresholdBook) EntryOf(rule string) (ThresholdEntry, bool) {
	e, ok := b.entries[rule]
	return e, ok
}

// Entries returns the entries in the order of their rules.
func (b ThresholdBook) Entries() []ThresholdEntry {
	var all []ThresholdEntry
	for _, rule := range slices.Sorted(maps.Keys(b.entries)) {
		all = append(all, b.entries[rule])
	}
	return all
}

// IsNews reports whether a record is later than what the book has of its rule.
func (b ThresholdBook) IsNews(r *ThresholdRecord) bool {
	e, known := b.entries[r.Rule]
	return !known || compareThresholds(r, &e.ThresholdRecord) > 0
}

// WithRecord returns the book with a record, if it is later than what the book has of its
// rule. A held one leaves in force what decided before.
func (b ThresholdBook) WithRecord(r ThresholdRecord, held bool, share float64) ThresholdBook {
	if !b.IsNews(&r) {
		return b
	}
	next := ThresholdEntry{ThresholdRecord: r}
	if before, known := b.entries[r.Rule]; known {
		next.InForce = before.InForce
		if held {
			next.Before = before.Decides()
		}
	}
	if held {
		next.Held, next.Share = true, share
	}
	return b.put(next)
}

// Marked returns the book with whether rules are in force here, and reports whether
// that is another than before.
func (b ThresholdBook) Marked(inForce func(rule string) bool) (next ThresholdBook, changed bool) {
	next = b
	for rule, e := range b.entries {
		if now := inForce(rule); now != e.InForce {
			e.InForce, changed = now, true
			next = next.put(e)
		}
	}
	return next, changed
}

// WithEnds returns the book with what has ended by itself at a time, and those of which something
// was in force here. It reports whether that is another book.
func (b ThresholdBook) WithEnds(now time.Time) (next ThresholdBook, ended []ThresholdEntry, changed bool) {
	next = b
	for _, e := range b.Entries() {
		before := e
		if e.Before != nil && e.Before.IsOver(now) {
			e.Before = nil
		}
		if e.Ended = e.IsOver(now); e == before {
			continue
		}
		if next, changed = next.put(e), true; before.InForce && before.Decides() != nil && e.Decides() == nil {
			ended = append(ended, before)
		}
	}
	return next, ended, changed
}

// Without returns the book without what was undone, or has ended, too long ago to matter.
func (b ThresholdBook) Without(now time.Time) ThresholdBook {
	next := ThresholdBook{maps.Clone(b.entries)}
	maps.DeleteFunc(next.entries, func(_ string, e ThresholdEntry) bool {
		return e.Idle() && now.Sub(time.UnixMilli(max(e.At, e.Until))) > thresholdsKept
	})
	return next
}

func (b ThresholdBook) put(e ThresholdEntry) ThresholdBook {
	next := maps.Clone(b.entries)
	if next == nil {
		next = map[string]ThresholdEntry{}
	}
	next[e.Rule] = e
	return ThresholdBook{next}
}

// FileText returns the book as a file that ParseThresholdBook reads and an operator can read.
func (b ThresholdBook) FileText() ([]byte, error) {
	file := struct {
		Rules []ThresholdEntry `json:"rules"`
	}{append([]ThresholdEntry{}, b.Entries()...)}
	text, err := json.MarshalIndent(file, "", "  ")
	return append(text, '\n'), err
}

// ParseThresholdBook reads what Text wrote. A file with a mistake is refused as a whole.
func ParseThresholdBook(text []byte) (ThresholdBook, error) {
	var file struct {
		Rules []ThresholdEntry `json:"rules"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return ThresholdBook{}, err
	}
	var b ThresholdBook
	for i := range file.Rules {
		e := &file.Rules[i]
		if err := e.check(); err != nil {
			return ThresholdBook{}, fmt.Errorf("rule %q: %w", e.Rule, err)
		}
		if e.Before != nil {
			if err := e.Before.check(); err != nil || e.Before.Rule != e.Rule {
				return ThresholdBook{}, fmt.Errorf("rule %q: the record before it is of rule %q: %w", e.Rule, e.Before.Rule, err)
			}
		}
		if _, twice := b.entries[e.Rule]; twice {
			return ThresholdBook{}, fmt.Errorf("rule %q is there twice", e.Rule)
		}
		b = b.put(*e)
	}
	return b, nil
}
