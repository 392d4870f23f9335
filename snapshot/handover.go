package snapshot

import (
	"time"

	"edgeguard"
)

// handover passes the records of one reading to the sink, without those that
// are of no more use.
type handover struct {
	sink   *Sink
	now    time.Time
	loaded Loaded

	take func(*Window) // of the meter
	slot uint32        // in which now lies, of the meter's width
}

func (h *handover) meter(m Meter) {
	h.take, h.slot = nil, slotAt(h.now, m.Width)
	if h.sink.Meter != nil {
		h.take = h.sink.Meter(m)
	}
}

func (h *handover) window(w *Window) {
	if h.take == nil {
		h.loaded.Skipped++
		return
	}
	ahead, left := w.settle(h.slot)
	if ahead {
		h.loaded.Settled++
	}
	if left {
		h.loaded.Windows++
		h.take(w)
	} else {
		h.loaded.Outdated++
	}
}

func (h *handover) block(b *Block) {
	switch {
	case h.sink.Block == nil:
	case b.isUseless(h.now):
		h.loaded.Outdated++
	default:
		h.loaded.Blocks++
		h.sink.Block(b)
	}
}

func (h *handover) step(s Step) {
	if h.sink.Step != nil {
		h.loaded.Steps++
		h.sink.Step(s)
	}
}

func (h *handover) position(p Position) {
	if h.sink.Position != nil {
		h.loaded.Positions++
		h.sink.Position(p)
	}
}

func (h *handover) evidence(e *edgeguard.Evidence) {
	if h.sink.Evidence != nil {
		h.sink.Evidence(e)
	}
}

func (h *handover) distribution(one Distribution) {
	if h.sink.Distribution != nil {
		h.sink.Distribution(one)
	}
}

func (h *handover) note(text []byte) {
	if h.sink.Note != nil {
		h.sink.Note(text)
	}
}
