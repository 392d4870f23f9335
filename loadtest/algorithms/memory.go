package algorithms

import (
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/loadtest/limiter"
)

// Held is what a limiter's clients take of the heap, as the runtime reports it.
// The last figures of it differ from run to run: a map's hash has a seed.
type Held struct {
	Limiter string
	Clients int
	// Slots is in how many of the window's slots each client sent a request.
	Slots      int
	BytesAKey  float64
	TotalBytes int64
}

// documented is the case that document 000 computes to take 2 to 3 GB.
const documented = 10_000_000

// filling is one table that is measured: every client sends a request of some
// cost in each of so many slots.
type filling struct {
	clients, slots int
	cost           uint16
}

// A key of edgeguard's that outgrows a few bytes has a ring from then on: the 60
// slots at once. At a cost above 255 that is with its first request.
const ringCost = 300

// The fillings of a short run and of a full one, which goes up to the documents'
// botnet of 20 million.
var (
	shortFillings = []filling{{1_000_000, 1, 1}, {100_000, edgeguard.Slots, 1}}
	fullFillings  = []filling{{1_000_000, 1, 1}, {documented, 1, 1}, {botnetFull, 1, 1}, {200_000, edgeguard.Slots, 1}, {documented, 1, ringCost}}
)

// ring is the limiter that stands for edgeguard.
const ring = "ring-1"

// measured are the algorithms that cost something of their own: a guard does not.
func measured() []limiter.Algorithm {
	return slices.DeleteFunc(limiter.Algorithms(), func(a limiter.Algorithm) bool { return a.Name == "ring-0.95" })
}

func (r *Result) measureMemory(ctx context.Context, o Options) error {
	fillings := shortFillings
	if o.Full {
		fillings = fullFillings
	}
	for _, fill := range fillings {
		for _, k := range measured() {
			if k.Name != ring && (fill.cost > 1 || fill.clients > documented) {
				continue // the others' bytes a key are known by then
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			held, slots := heldBy(k, fill), fill.slots
			if fill.cost > 1 {
				slots = edgeguard.Slots // it takes as much as if it had come in all of them
			}
			r.Memory = append(r.Memory, Held{k.Name, fill.clients, slots, math.Round(float64(held)/float64(fill.clients)*10) / 10, held})
		}
	}
	return nil
}

// heldBy returns the bytes of the heap that a limiter holds when it is full.
func heldBy(k limiter.Algorithm, f filling) int64 {
	before := heap()
	l := filled(k, f)
	held := heap() - before
	runtime.KeepAlive(l)
	return held
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Room is more than what is filled in here; the window is the default's.
const (
	room       = 1 << 20
	fillWindow = 5 * time.Minute
)

// lastSlot is when clients who sent in so many slots sent last.
func lastSlot(slots int) time.Duration {
	return epoch + time.Duration(slots-1)*fillWindow/edgeguard.Slots
}

// filled returns a limiter that is filled from the window's first slot on.
func filled(k limiter.Algorithm, f filling) limiter.Local {
	l := k.New(room, fillWindow)
	for slot := range f.slots {
		now := lastSlot(slot + 1)
		for client := range f.clients {
			_, _ = l.Take(now, uint32(client), f.cost)
		}
	}
	return l
}
