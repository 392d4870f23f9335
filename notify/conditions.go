package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"edgeguard/internal/words"
)

// mostConditions is how many alarms of a batch have a message of their own.
const mostConditions = 20

// Condition is an alarm that is active.
type Condition struct {
	Kind, About string
	Text        string
	Since       time.Time // local
	// Event is an alarm about something that happened, which has no end that anybody
	// has to know of.
	Event bool
	// Confirm says that it awaits an operator.
	Confirm bool
}

// messageSubject is what tells alarms apart.
type messageSubject struct{ kind, about string }

func (c *Condition) subject() messageSubject { return messageSubject{c.Kind, c.About} }

// told is what a receiver was told of an alarm, as far as it concerns the next message.
type told struct {
	text    string // without its figures
	since   time.Time
	event   bool
	confirm bool
}

// book is which alarms a receiver has been told of. What it is told next is the
// difference to those that are active: an alarm that began and ended while the receiver
// was away is not news, and no queue of old alarms can grow.
type book struct{ told map[messageSubject]told }

// said returns a text without its digits: a figure that has changed makes no other
// alarm.
func said(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// differs reports whether there is something to tell.
func (b *book) differs(active []Condition) bool {
	known := 0
	for i := range active {
		if b.news(&active[i]) {
			return true
		}
		known++
	}
	return known < len(b.told)
}

// news reports whether an alarm was not told, or says something else now. An event that
// happens again is told once, whichever address it is about.
func (b *book) news(c *Condition) bool {
	t, is := b.told[c.subject()]
	return !is || t.text != said(c.Text) && !c.Event
}

// tellChanges returns the messages that make up the difference, and notes them as told. before
// is what was known of each, for untell.
func (b *book) tellChanges(now time.Time, n *Names, active []Condition) (all []Message, before map[messageSubject]told) {
	before = make(map[messageSubject]told)
	still := make(map[messageSubject]bool, len(active))
	var began, ended int
	add := func(m Message, count *int) {
		if len(all) < mostConditions {
			all = append(all, m)
		} else {
			*count++
		}
	}
	for i := range active {
		still[active[i].subject()] = true
	}
	for _, s := range b.gone(still) {
		t := b.told[s]
		before[s] = t
		delete(b.told, s)
		if !t.event {
			add(n.ended(now, s, t), &ended)
		}
	}
	for i := range active {
		c := &active[i]
		if !b.news(c) {
			continue
		}
		before[c.subject()] = b.told[c.subject()] // the zero one for none
		if b.told == nil {
			b.told = make(map[messageSubject]told)
		}
		b.told[c.subject()] = told{said(c.Text), c.Since, c.Event, c.Confirm}
		add(n.began(now, c), &began)
	}
	if began+ended > 0 {
		all = append(all, Message{Time: n.instant(now), Kind: kindSummary, Fields: Fields{Began: began, Ended: ended}, Text: fmt.Sprintf(
			"%s more began, and %s more ended: edgeguard status lists those that are active", words.Plural(began, "alarm", "alarms"), words.Number(ended))})
	}
	return all, before
}

// gone returns what was told and is not active, in a fixed order.
func (b *book) gone(active map[messageSubject]bool) (all []messageSubject) {
	for s := range b.told {
		if !active[s] {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b messageSubject) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.about, b.about))
	})
	return all
}

// untell takes back what was told by a batch that did not arrive.
func (b *book) untell(before map[messageSubject]told) {
	for s, t := range before {
		if t == (told{}) {
			delete(b.told, s)
		} else {
			b.told[s] = t
		}
	}
}

func (n *Names) began(now time.Time, c *Condition) Message {
	m := Message{Time: n.instant(now), Kind: kindAlarm, Text: harmless("Alarm " + c.Kind + ": " + c.Text)}
	if c.Confirm {
		m.Kind, m.Text = kindConfirmation, harmless("Awaits confirmation: "+c.Text)
	}
	m.Fields = Fields{Alarm: c.Kind, About: harmless(c.About), Since: n.instant(c.Since)}
	return m
}

func (n *Names) ended(now time.Time, s messageSubject, t told) Message {
	name := "Alarm " + s.kind
	if s.about != "" {
		name += " about " + s.about
	}
	m := Message{Time: n.instant(now), Kind: kindEnded, Text: harmless(fmt.Sprintf("%s has ended, after %s", name, words.Span(now.Sub(t.since).Round(time.Second))))}
	if t.confirm {
		m.Kind = kindConfirmed
		m.Text = harmless("Nothing of this awaits confirmation any more: " + strings.TrimPrefix(name, "Alarm "))
	}
	m.Fields = Fields{Alarm: s.kind, About: harmless(s.about), Since: n.instant(t.since)}
	return m
}

// holdEvent is how long an alarm about an event counts as active after it happened last.
const holdEvent = 5 * time.Minute

// Events keeps alarms about events active for [holdEvent] after each: what happens again
// and again is told once.
type Events struct {
	lasting map[messageSubject]*lastingEvent
}

type lastingEvent struct {
	Condition
	last time.Time
}

// Seen is an alarm about an event, and when it happened last.
type Seen struct {
	Condition
	Last time.Time
}

// Active notes the events that were seen and returns those that count as active, in a
// fixed order. It keeps as many as a node's tracker has.
func (e *Events) Active(now time.Time, seen []Seen) (all []Condition) {
	if e.lasting == nil {
		e.lasting = make(map[messageSubject]*lastingEvent)
	}
	for i := range seen {
		s := &seen[i]
		if now.Sub(s.Last) >= holdEvent {
			continue
		}
		h := e.lasting[s.subject()]
		if h == nil {
			h = &lastingEvent{Condition: s.Condition}
			e.lasting[s.subject()] = h
		}
		h.Text, h.Event, h.last = s.Text, true, s.Last
	}
	for key, h := range e.lasting {
		if now.Sub(h.last) >= holdEvent {
			delete(e.lasting, key)
			continue
		}
		all = append(all, h.Condition)
	}
	slices.SortFunc(all, func(a, b Condition) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.About, b.About)) })
	return all
}
