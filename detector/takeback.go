package detector

import (
	"math/bits"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/detector/outage"
	"edgeguard/ring"
)

const (
	liftSeconds = uint32(liftBack / time.Second)
	// failedMinutes are the calendar minutes that a lift reaches into: liftBack before a block that
	// was sent, at most as long before one that stays, which shows after a minute.
	failedMinutes = uint32(2*liftBack/time.Minute) + 3
	failedCells   = 1 << 13 // a row: 128 KiB a minute
	mostNoted     = 128
)

// failed adds up what excusing meters counted by failures, by meter, key and scope, in each of
// the last minutes: a count does not say where it came from. Sums that are too high, where
// somebody fails from very many networks, have a lift take more of what is two minutes old, up to
// all of it; none is too low, so that no visitor is taken back less. The watch's lock guards it.
type failed struct {
	minute uint32 // the newest
	sums   [failedMinutes]sums
	// noted are the hashes in sums, up to mostNoted: most minutes have few failures, and to clear
	// all cells took as long as hundreds of events.
	noted [failedMinutes][]uint64
}

// add adds to a sum in a minute, unless it is too old.
func (f *failed) add(hash uint64, minute, n uint32) {
	if minute > f.minute {
		for m := max(f.minute+1, minute-min(minute, failedMinutes-1)); m <= minute; m++ {
			f.clear(m % failedMinutes)
		}
		f.minute = minute
	}
	if minute+failedMinutes <= f.minute {
		return
	}
	s, noted := &f.sums[minute%failedMinutes], &f.noted[minute%failedMinutes]
	if *s == nil {
		*s = make(sums, sumRows*failedCells)
	}
	if sum := s.addTo(hash, n); sum == n && len(*noted) < mostNoted {
		*noted = append(*noted, hash)
	}
}

// clear forgets one of the minutes.
func (f *failed) clear(i uint32) {
	if s := f.sums[i]; len(f.noted[i]) == mostNoted {
		clear(s)
	} else {
		for _, hash := range f.noted[i] {
			for row := range sumRows {
				*s.cell(row, hash) = 0
			}
		}
	}
	f.noted[i] = f.noted[i][:0]
}

// of returns the sum of the minutes from that of a second on.
func (f *failed) of(hash uint64, from uint32) (sum uint32) {
	for m := max(from/60, f.minute-min(f.minute, failedMinutes-1)); m <= f.minute; m++ {
		sum += f.sums[m%failedMinutes].sumOf(hash)
	}
	return sum
}

// failedHash is that of what a meter counts of a key in a scope.
func (g *outageWatch) failedHash(m *meter, key netip.Addr, scope uint8) uint64 {
	return floodMix(sourceHash(key, g.spared.seed)^m.mark, uint64(scope))
}

// noteFailed notes what an excusing meter counted by a failure: what a lift may take back. It
// needs the watch's lock.
func (g *outageWatch) noteFailed(m *meter, addr netip.Addr, scope uint8, eventSec uint32, added uint16) {
	if scope >= outage.MostScopes || added == 0 {
		return
	}
	if !addr.Is4() || m.V4 < 32 { // else it is its own key
		addr = m.Key(addr, "").Prefix.Addr()
	}
	g.failed.add(g.failedHash(m, addr, scope), eventSec/60, uint32(added))
}

// noteFailed is that of the watch, for a decision.
func (w *watched) noteFailed(o *occasion, m *meter, added uint16) {
	if !m.CountsAddresses() || o.event.Verified&m.Kind == 0 {
		return
	}
	g := o.d.outages
	g.mu.Lock()
	g.noteFailed(m, o.event.Addr, w.scope, o.eventSec, added)
	g.mu.Unlock()
}

// noteFailed is that of the watch, for what a meter counted of a batch in its proven table.
func (b *batch) noteFailed(d *Detector, m *meter, events []edgeguard.Event) {
	g := d.outages
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, i := range b.at {
		if b.fails.has(int(i)) && b.counted[m.index].has(int(i)) {
			g.noteFailed(m, events[i].Addr, b.scopes[i], b.moments[i].eventSec, b.counts[m.index][i].added)
		}
	}
}

// failedOf returns what failures in scopes, a bit each, made of the count of a meter's key from
// a second on, or from the begin of its minute.
func (g *outageWatch) failedOf(m *meter, prefix netip.Prefix, scopes uint64, from uint32) (sum uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for ; scopes != 0; scopes &= scopes - 1 {
		sum += g.failed.of(g.failedHash(m, prefix.Addr(), uint8(bits.TrailingZeros64(scopes))), from)
	}
	return sum
}

// back is what a lift takes from a table: what is in the newest slots.
type back struct {
	source
	now, first   uint32 // slots: this one, and the oldest that is taken
	taken, keeps uint32 // of the count
	slots        [ring.Slots]uint16
}

// takesBack returns what a lift takes from the count of a key, at most so much as failed, the
// newest first: from the slots from a second on, or where one is longer than liftBack from liftBack
// after it on. Which values were new in a slot is not known: of a meter of different
// values all are taken, and what others' failures are of them counts as kept.
func (s source) takesBack(addr netip.Addr, sec, from, failed uint32) back {
	b := back{source: s, now: s.meter.slotAt(sec)}
	if s.meter.Distinct != 0 {
		b.taken = s.table.Count(addr, "", b.now)
		b.keeps = b.taken - min(b.taken, failed)
		return b
	}
	b.slots, _ = s.table.SlotsOf(addr, "", b.now)
	b.first = s.meter.slotAt(from)
	if s.meter.Width > liftSeconds {
		b.first = s.meter.slotAt(from + liftSeconds)
	}
	for i := len(b.slots) - 1; i >= 0; i-- {
		n := uint32(b.slots[i])
		if b.slotOf(i) >= b.first {
			takes := min(n, failed-b.taken)
			b.taken, b.slots[i], n = b.taken+takes, uint16(n-takes), n-takes
		}
		b.keeps += n
	}
	return b
}

// slotOf is the slot of a place in slots.
func (b *back) slotOf(i int) uint32 { return b.now - (ring.Slots - 1) + uint32(i) }

// leaves returns what stays in the slot of a second; 0 for one that has left the window.
func (b *back) leaves(sec uint32) uint32 {
	if age := b.now - min(b.now, b.meter.slotAt(sec)); age < ring.Slots {
		return uint32(b.slots[ring.Slots-1-age])
	}
	return 0
}

// apply takes it.
func (b *back) apply(prefix netip.Prefix) {
	b.table.Clear(prefix.Addr(), "")
	if b.keeps == 0 || b.meter.Distinct != 0 {
		return
	}
	var counts ring.Counts
	for i := range b.slots {
		counts[b.slotOf(i)%ring.Slots] = b.slots[i]
	}
	b.table.Restore(prefix, 0, b.now, &counts)
}
