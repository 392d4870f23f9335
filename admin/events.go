package admin

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"edgeguard"
)

const (
	// eventMemory is how many events are kept, for streams that come back and
	// for the history of an address: about 2 MB.
	eventMemory = 4096
	// queueSize is how many events wait for one stream before it is closed.
	queueSize = 256
	// maxStreams is how many streams may be open.
	maxStreams = 64
	// MaxLabels is how many values of one label are counted apart; the rest go
	// under OtherLabel, so that no input can grow the metrics without end.
	MaxLabels  = 64
	OtherLabel = "other"
)

// Events keeps the last events and sends them to its streams. Publishing never
// waits: a stream that does not keep up is dropped and counted. It is
// safe for concurrent use. Make one with [NewEvents].
type Events struct {
	node string
	run  string // distinguishes the IDs of this run from those of another

	mu      sync.Mutex // guards the fields below
	ring    [eventMemory]*Event
	next    uint64 // the number of the next event; the first is 1
	streams map[*stream]bool
	dropped uint64
	made    map[MadeBy]uint64 // blocks by rule and origin
	lifted  map[string]uint64 // unblocks: "manual", or "fleet" for another node's
	alarms  map[string]uint64 // by name
}

// MadeBy is what blocks are counted by.
type MadeBy struct {
	Rule   string
	Origin string // "local", "manual" or "fleet"
}

// stream is one listener.
type stream struct {
	queue chan *Event // closed when it is dropped
	kinds map[string]bool
}

// NewEvents makes an empty memory of events. node is the name of this node, so
// that blocks made here can be told from the fleet's.
func NewEvents(node string) *Events {
	return &Events{
		node: node, run: strconv.FormatUint(uint64(rand.Uint32()), 36), next: 1,
		streams: make(map[*stream]bool),
		made:    make(map[MadeBy]uint64), lifted: make(map[string]uint64), alarms: make(map[string]uint64),
	}
}

// Block publishes a change of the blocklist: a block or an allowance, or the
// tombstone of one that was removed. It fits blocklist.List.OnChange.
func (e *Events) Block(now time.Time, b edgeguard.Block) {
	if b.Allow {
		e.allowance(now, b)
		return
	}
	shown := NewBlock(b)
	e.mu.Lock()
	defer e.mu.Unlock()
	kind := EventBlock
	if b.Lifted {
		kind = EventUnblock
		reason := e.Origin(b)
		if reason == "local" { // this node lifts nothing but by hand
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
	e.publish(&Event{Time: now.UTC(), Kind: kind, Block: &shown})
}

func (e *Events) allowance(now time.Time, b edgeguard.Block) {
	shown, kind := NewAllowance(b), EventAllow
	if b.Lifted {
		kind = EventDisallow
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publish(&Event{Time: now.UTC(), Kind: kind, Allowance: &shown})
}

// Alarm publishes an alarm.
func (e *Events) Alarm(a edgeguard.Alarm) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := a.Kind
	if _, known := e.alarms[name]; !known && len(e.alarms) >= MaxLabels {
		name = OtherLabel
	}
	e.alarms[name]++
	e.publish(&Event{Time: a.Time.UTC(), Kind: EventAlarm, Name: a.Kind, Was: FormerAlarm(a.Kind), Text: a.Text})
}

// State publishes that the node changed: a fixed word such as "reloaded" and a
// sentence.
func (e *Events) State(now time.Time, name, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publish(&Event{Time: now.UTC(), Kind: EventState, Name: name, Text: text})
}

// Origin returns where a block was made, as in MadeBy.
func (e *Events) Origin(b edgeguard.Block) string {
	switch {
	case b.Origin != "" && b.Origin != e.node:
		return "fleet"
	case b.Rule == edgeguard.ManualRule:
		return "manual"
	}
	return "local"
}

// publish keeps an event and queues it for the streams. It needs the lock.
func (e *Events) publish(event *Event) {
	event.ID = e.id(e.next)
	e.ring[e.next%eventMemory] = event
	e.next++
	for s := range e.streams {
		if s.kinds != nil && !s.kinds[event.Kind] {
			continue
		}
		select {
		case s.queue <- event:
		default:
			e.dropped++
			delete(e.streams, s)
			close(s.queue)
		}
	}
}

// beginning is where a stream begins.
type beginning struct {
	id     string   // of the last event before it
	missed []*Event // what came after the ID asked for
	gap    bool     // some of that is no longer stored; then missed is empty
}

// listen opens a stream of the kinds, nil for all, from now on or from behind
// the event of an ID. The stream is nil if there are that many already. Whoever opens
// one closes it with leave.
func (e *Events) listen(after string, kinds map[string]bool, most int) (*stream, beginning) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.streams) >= most {
		return nil, beginning{}
	}
	s := &stream{queue: make(chan *Event, queueSize), kinds: kinds}
	e.streams[s] = true
	from := beginning{id: after}
	seq, ok := e.parseID(after)
	if !ok || seq+1 < e.oldest() {
		return s, beginning{id: e.id(e.next - 1), gap: after != ""}
	}
	for n := seq + 1; n < e.next; n++ {
		if event := e.ring[n%eventMemory]; kinds == nil || kinds[event.Kind] {
			from.missed = append(from.missed, event)
		}
	}
	return s, from
}

func (e *Events) leave(s *stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.streams, s)
}

func (e *Events) id(seq uint64) string { return e.run + "-" + strconv.FormatUint(seq, 10) }

// parseID reads an ID of this run. It needs the lock.
func (e *Events) parseID(id string) (seq uint64, ok bool) {
	run, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	return seq, err == nil && run == e.run && seq < e.next
}

// oldest is the number of the oldest event that is kept. It needs the lock.
func (e *Events) oldest() uint64 {
	if e.next <= eventMemory {
		return 1
	}
	return e.next - eventMemory
}

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
	return Happened{
		Made: maps.Clone(e.made), Lifted: maps.Clone(e.lifted), Alarms: maps.Clone(e.alarms),
		Dropped: e.dropped, Streams: len(e.streams),
	}
}

// newest returns at most n events for which pick is true, the newest first.
func (e *Events) newest(n int, pick func(*Event) bool) []*Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []*Event
	for seq := e.next - 1; seq >= e.oldest() && len(found) < n; seq-- {
		if event := e.ring[seq%eventMemory]; pick(event) {
			found = append(found, event)
		}
	}
	return found
}

// history returns the newest events of blocks that hold addr.
func (e *Events) history(addr netip.Addr, n int) []Event {
	history := []Event{}
	for _, event := range e.newest(n, func(event *Event) bool { return event.touches(addr) }) {
		history = append(history, *event)
	}
	return history
}
