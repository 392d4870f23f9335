package thresholds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// kept is how long an undo is remembered, as an unblock is: a node that returns within
// a year does not bring back what was undone.
const kept = 366 * 24 * time.Hour

// Entry is what a node knows of one rule.
type Entry struct {
	Record // the last one
	// Held: the record waits for a confirmation on this node, because it would
	// newly refuse Share of the requests. Before decides until then; nil for the
	// config's threshold.
	Held   bool    `json:"held,omitempty"`
	Share  float64 `json:"share,omitempty"`
	Before *Record `json:"before,omitempty"`
	// InForce: it was in force here when the entry was last written.
	InForce bool `json:"in_force,omitempty"`
}

// Decides returns the record that decides on this node; nil for none.
func (e *Entry) Decides() *Record {
	r := &e.Record
	if e.Held {
		r = e.Before
	}
	if r == nil || r.Undo() {
		return nil
	}
	return r
}

// Book is what a node knows of the fleet's thresholds, by rule. It does not change:
// With returns another.
type Book struct{ entries map[string]Entry }

// Of returns the entry of a rule.
func (b Book) Of(rule string) (Entry, bool) {
	e, ok := b.entries[rule]
	return e, ok
}

// All returns the entries in the order of their rules.
func (b Book) All() []Entry {
	var all []Entry
	for _, rule := range slices.Sorted(maps.Keys(b.entries)) {
		all = append(all, b.entries[rule])
	}
	return all
}

// News reports whether a record is later than what the book has of its rule.
func (b Book) News(r *Record) bool {
	e, known := b.entries[r.Rule]
	return !known || Compare(r, &e.Record) > 0
}

// With returns the book with a record, if it is later than what the book has of its
// rule. A held one leaves in force what decided before.
func (b Book) With(r Record, held bool, share float64) Book {
	if !b.News(&r) {
		return b
	}
	next := Entry{Record: r}
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
func (b Book) Marked(inForce func(rule string) bool) (next Book, changed bool) {
	next = b
	for rule, e := range b.entries {
		if now := inForce(rule); now != e.InForce {
			e.InForce, changed = now, true
			next = next.put(e)
		}
	}
	return next, changed
}

// Without returns the book without what was undone too long ago to matter.
func (b Book) Without(now time.Time) Book {
	next := Book{maps.Clone(b.entries)}
	maps.DeleteFunc(next.entries, func(_ string, e Entry) bool {
		return e.Undo() && !e.Held && now.Sub(time.UnixMilli(e.At)) > kept
	})
	return next
}

func (b Book) put(e Entry) Book {
	next := maps.Clone(b.entries)
	if next == nil {
		next = map[string]Entry{}
	}
	next[e.Rule] = e
	return Book{next}
}

// Text returns the book as a file that ParseBook reads and an operator can read.
func (b Book) Text() ([]byte, error) {
	file := struct {
		Rules []Entry `json:"rules"`
	}{append([]Entry{}, b.All()...)}
	text, err := json.MarshalIndent(file, "", "  ")
	return append(text, '\n'), err
}

// ParseBook reads what Text wrote. A file with a mistake is refused as a whole.
func ParseBook(text []byte) (Book, error) {
	var file struct {
		Rules []Entry `json:"rules"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return Book{}, err
	}
	var b Book
	for i := range file.Rules {
		e := &file.Rules[i]
		if err := e.check(); err != nil {
			return Book{}, fmt.Errorf("rule %q: %w", e.Rule, err)
		}
		if e.Before != nil {
			if err := e.Before.check(); err != nil || e.Before.Rule != e.Rule {
				return Book{}, fmt.Errorf("rule %q: the record before it is of rule %q: %w", e.Rule, e.Before.Rule, err)
			}
		}
		if _, twice := b.entries[e.Rule]; twice {
			return Book{}, fmt.Errorf("rule %q is there twice", e.Rule)
		}
		b = b.put(*e)
	}
	return b, nil
}
