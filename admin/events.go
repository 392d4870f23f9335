package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/blocklist"
	"edgeguard/eventlog"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

const (
	// MaxLabels is how many values of one label are counted apart; the rest go
	// under OtherLabel, so that no input can grow the metrics without end.
	MaxLabels  = 64
	OtherLabel = "other"
)

// Events has events kept, and sends them to its streams. Neither waits: see [watch.Hub] and
// [eventlog.Log]. It is safe for concurrent use. Make one with [NewEvents].
type Events struct {
	node   string
	log    *eventlog.Log
	unit   func(rule, origin string) words.Measure
	hub    *watch.Hub[*Event]
	places watch.Places
	// attacks are what the crossings and blocks among them make.
	attacks attacks

	mu     sync.Mutex        // guards the fields below
	made   map[MadeBy]uint64 // blocks by rule and origin
	lifted map[string]uint64 // unblocks: "manual", or "fleet" for another node's
	alarms map[string]uint64 // by name
}

// Expect has alarms of these kinds counted from zero on.
func (e *Events) Expect(kinds []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, kind := range kinds {
		e.alarms[kind] += 0
	}
}

// MadeBy is what blocks are counted by.
type MadeBy struct {
	Rule   string
	Origin string // "local", "manual" or "fleet"
}

// NewEvents returns the events that a log keeps. node is the name of this
// node, so that blocks made here can be told from the fleet's; unit returns what a
// figure counts, as [Reader] does.
func NewEvents(node string, log *eventlog.Log, unit func(rule, origin string) words.Measure) *Events {
	return &Events{
		node: node, log: log, unit: unit, hub: watch.NewHub[*Event](),
		made: make(map[MadeBy]uint64), lifted: make(map[string]uint64), alarms: make(map[string]uint64),
	}
}

// Block publishes a change of the blocklist: a block or an allowance, or the
// tombstone of one that was removed, with how that ended, which may be nil. Those of
// a change of many are not kept one by one, but for what they refused: the change lists them.
func (e *Events) Block(now time.Time, b edgeguard.Block, ended *blocklist.Ended, imported bool) {
	if b.Allow {
		e.allowance(now, b, imported)
		return
	}
	shown := NewBlock(b)
	shown.Unit = e.unit(b.Rule, b.Origin)
	event := Event{Time: now.UTC(), Kind: EventBlock, Block: &shown, Ended: newEnded(ended)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if b.Lifted {
		event.Kind = EventUnblock
		reason := e.Origin(b)
		if reason == FromHere { // this node lifts nothing but by hand
			reason = edgeguard.ManualRule
		}
		e.lifted[reason]++
	} else {
		by := MadeBy{b.Rule, e.Origin(b)}
		if _, known := e.made[by]; !known && len(e.made) >= MaxLabels {
			by = MadeBy{OtherLabel, by.Origin}
		}
		e.made[by]++
	}
	if imported && (ended == nil || ended.Refused == 0) {
		e.send(event, func() uint64 { return e.log.Newest() })
		return
	}
	e.keep(eventlog.Blocks, event, b.Rule, b.Prefix)
}

func (e *Events) allowance(now time.Time, b edgeguard.Block, imported bool) {
	shown, kind := NewAllowance(b), EventAllow
	if b.Lifted {
		kind = EventDisallow
	}
	event := Event{Time: now.UTC(), Kind: kind, Allowance: &shown}
	if imported {
		e.send(event, func() uint64 { return e.log.Newest() })
		return
	}
	e.keep(eventlog.Blocks, event, b.Rule, b.Prefix)
}

// Alarm publishes an alarm, or its end. What was told so since it began is not kept again.
func (e *Events) Alarm(a edgeguard.Alarm) {
	event := Event{Time: a.Time.UTC(), Kind: EventAlarm, Name: a.Kind, About: a.About, Lasts: a.Lasts, Again: a.Again, Text: a.Text}
	if a.Over {
		event.Kind = EventRecovered
		e.publish(event)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := a.Kind
	if _, known := e.alarms[name]; !known && len(e.alarms) >= MaxLabels {
		name = OtherLabel
	}
	e.alarms[name]++
	if a.Same {
		e.send(event, func() uint64 { return e.log.Newest() })
		return
	}
	e.publish(event)
}

// State publishes that the node changed: a fixed word such as "reloaded" and a
// sentence.
func (e *Events) State(now time.Time, name, text string) {
	e.publish(Event{Time: now.UTC(), Kind: EventState, Name: name, Text: text})
}

// Held publishes that the records which await confirmation are others than before.
func (e *Events) Held(now time.Time, n int) {
	text := "no record of the fleet awaits confirmation any more"
	if n > 0 {
		text = fmt.Sprintf("records of the fleet that await confirmation: %d", n)
	}
	e.publish(Event{Time: now.UTC(), Kind: EventHeld, Name: "held", Text: text})
}

// WouldBlock publishes a crossing that was held back because the site failed.
func (e *Events) WouldBlock(now time.Time, c *edgeguard.Crossing) {
	event := Event{Time: now.UTC(), Kind: EventWouldBlock, Name: c.Rule,
		Text: fmt.Sprintf("%s would be over the limit of rule %s (%s); the site fails", c.Key, c.Rule, e.unit(c.Rule, e.node).Beside(c.Count, c.Limit))}
	e.keep(eventlog.Crossings, event, c.Rule, prefixesOf(c.Key)...)
}

// Origin returns where a block was made, as in MadeBy.
func (e *Events) Origin(b edgeguard.Block) string { return makerOf(&b, e.node) }

// publish publishes an event that has no prefix.
func (e *Events) publish(event Event) { e.keep(eventlog.ByHand, event, "") }

// keep writes an event to the log, and sends it with its number to the streams.
func (e *Events) keep(room eventlog.Section, event Event, rule string, prefixes ...netip.Prefix) {
	event.Text = safetext.Cut(event.Text, 4*mostKept)
	body, err := json.Marshal(event)
	if err != nil { // only a node's odd time can do this
		return
	}
	e.attacks.note(&event, rule, prefixes, e.node)
	event.Change = event.Change.with(prefixes)
	e.send(event, func() uint64 {
		return e.log.Add(room, eventlog.Entry{Time: event.Time, Kind: event.Kind, Rule: rule, Prefixes: prefixes, Body: body})
	})
}

// send sends an event to the streams, in the order of the numbers.
func (e *Events) send(event Event, number func() uint64) {
	e.hub.Publish(event.Kind, func() (string, *Event) {
		if n := number(); n > 0 { // else it found no room
			event.ID = strconv.FormatUint(n, 10)
		}
		return event.ID, &event
	})
}

// Place takes a place for a stream, and returns what gives it back; nil if too many are
// open.
func (e *Events) Place(reader watch.StreamReader) (release func()) { return e.places.Take(reader) }

// Listen begins a stream of the kinds, nil for all, and returns the number of the event that it
// begins behind. It ends by Leave.
func (e *Events) Listen(kinds []string) (stream *watch.Stream[*Event], behind uint64) {
	stream = e.hub.Listen(kinds, func() { behind = e.log.Newest() })
	return stream, behind
}

// Leave ends a stream.
func (e *Events) Leave(stream *watch.Stream[*Event]) { e.hub.Leave(stream) }

// Happened is how many events there were since the start.
type Happened struct {
	Made    map[MadeBy]uint64 // blocks
	Lifted  map[string]uint64 // unblocks: "manual", or "fleet" for another node's
	Alarms  map[string]uint64 // by kind
	Dropped uint64            // streams that did not keep up
	Streams int               // that are open
}

// Counted returns how many events there were.
func (e *Events) Counted() Happened {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := Happened{Made: maps.Clone(e.made), Lifted: maps.Clone(e.lifted), Alarms: maps.Clone(e.alarms)}
	h.Streams, h.Dropped = e.hub.Streams()
	return h
}
