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
	Limiter string `json:"limiter"`
	Clients int    `json:"clients"`
	// Slots is in how many of the window's slots each client sent a request.
	Slots      int     `json:"slots"`
	BytesAKey  float64 `json:"bytes_a_key"`
	TotalBytes int64   `json:"total_bytes"`
}

// documented is the case that document 000 computes to take 2 to 3 GB.
const documented = 10_000_000

// fillings are the tables that are measured, in a short run and in a full one:
// clients, and the slots in which each sends a request.
var (
	shortFillings = [][2]int{{1_000_000, 1}, {100_000, edgeguard.Slots}}
	fullFillings  = [][2]int{{1_000_000, 1}, {documented, 1}, {1_000_000, edgeguard.Slots}, {documented, edgeguard.Slots}}
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
		clients, slots := fill[0], fill[1]
		for _, k := range measured() {
			if clients*slots > 100_000_000 && k.Name != ring { // a log would need 6 GB
				continue
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			held := heldBy(k, clients, slots)
			r.Memory = append(r.Memory, Held{k.Name, clients, slots, math.Round(float64(held)/float64(clients)*10) / 10, held})
		}
	}
	return nil
}

// heldBy returns the bytes of the heap that a limiter holds when it is full.
func heldBy(k limiter.Algorithm, clients, slots int) int64 {
	before := heap()
	l := filled(k, clients, slots)
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

// filled returns a limiter with a request of every client in each of the
// window's first slots.
func filled(k limiter.Algorithm, clients, slots int) limiter.Local {
	l := k.New(room, fillWindow)
	for slot := range slots {
		now := lastSlot(slot + 1)
		for client := range clients {
			_, _ = l.Take(now, uint32(client), 1)
		}
	}
	return l
}
