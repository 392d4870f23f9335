package packet

import (
	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// batchSize events are passed on together: enough that passing them is not
// felt, few enough that they stay in the cache.
const batchSize = 512

// batchText is about how much text a batch may hold before it is passed on.
const batchText = 256 << 10

// batch is events and the text that they point to. The events that are not in
// use are zero except for the fields that every packet sets.
type batch struct {
	events []edgeguard.Event
	text   []byte
}

func newBatch() *batch {
	return &batch{events: make([]edgeguard.Event, 0, batchSize)}
}

// reset makes the batch empty. Only requests leave fields behind that other
// packets do not set.
func (b *batch) reset() {
	if len(b.text) > 0 {
		clear(b.events[:cap(b.events)])
		b.text = b.text[:0]
	}
	b.events = b.events[:0]
}

// full reports whether the batch should be passed on.
func (b *batch) full() bool {
	return len(b.events) == cap(b.events) || len(b.text) >= batchText
}

// add returns room for one more event.
func (b *batch) add() *edgeguard.Event {
	b.events = b.events[:len(b.events)+1]
	return &b.events[len(b.events)-1]
}

// keep copies s into the batch, since the window moves on before the event is
// used. The string holds until reset: growing leaves what was written in its
// old place.
func (b *batch) keep(s []byte) string {
	if len(s) == 0 {
		return ""
	}
	at := len(b.text)
	b.text = append(b.text, s...)
	return unsafetext.String(b.text[at:])
}

// keepRequest copies a request into an event of the batch.
func (b *batch) keepRequest(ev *edgeguard.Event, q *request) {
	if ev.Kind&edgeguard.KindRequest == 0 {
		return
	}
	ev.Known |= q.known
	ev.Method = b.keep(q.method)
	ev.Path = b.keep(q.path)
	ev.Host = b.keep(q.host)
	ev.Agent = b.keep(q.agent)
}
