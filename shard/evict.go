package shard

import (
	"math"

	"edgeguard/ring"
)

// sample is how many entries a newcomer is compared with: more finds a cooler
// one, fewer is quicker in a flood.
const sample = 16

// heatOf says how much an entry would be missed: what the sketch had seen of
// the key when it was admitted, and its count since. The idle have none.
func (f *half) heatOf(e *entry, now uint32) uint32 {
	if f.layout.peak != 0 {
		return uint32(e.heat) + *f.layout.peakOf(e)
	}
	if max(now, e.head)-e.head >= ring.Slots {
		return 0
	}
	if e.form == warm {
		return uint32(e.heat) + e.asWarm().sum
	}
	return uint32(e.heat) + f.countOf(e, e.head)
}

// makeRoom evicts the coolest of a sample of a full page if the newcomer is
// hotter, and returns the heat with which it comes. Nothing is pinned: a flood
// could pin as well as any client. The estimate of a newcomer that is not
// admitted has grown, so that one who returns gets in.
func (f *half) makeRoom(s *shard, p *page, h uint64, op *Op) (heat uint8, ok bool) {
	estimate := f.mem.estimates.raise(h, op.Cost)
	coolest, least := f.coolest(s, p, h, op.Now)
	if coolest == nil || least >= estimate {
		s.refused++
		return 0, false
	}
	if least == 0 {
		s.expired++
	} else {
		s.evicted++
		f.mem.estimates.keepHeat(f.hashKey(f.layout.keyOf(coolest)), least)
	}
	f.dropEntry(s, p, coolest)
	return uint8(min(estimate-uint32(op.Cost), math.MaxUint8)), true
}

// coolest finds the entry of least heat in a sample of the page. Each time
// the sample begins elsewhere, so that no entry is safe by its place.
func (f *half) coolest(s *shard, p *page, h uint64, now uint32) (e *entry, least uint32) {
	l := &f.layout
	g := (l.homeGroup(h) + uint32(s.refused+s.evicted)) % l.groups
	for range max(sample/l.each, 1) {
		for i := range l.each {
			if x := l.entryAt(p, g, i); x.form != empty {
				if heat := f.heatOf(x, now); e == nil || heat < least {
					e, least = x, heat
				}
			}
		}
		g = l.nextGroup(g)
	}
	return e, least
}

// outgrow counts cost in slot for an entry whose pairs cannot take it: in a
// new ring, in that of a cooler key of the page, or, where there is
// neither, in its pairs as well as they can.
func (f *half) outgrow(s *shard, p *page, e *entry, slot uint32, cost uint16) (count uint32, added uint16) {
	r := f.mem.takeRing()
	if r == 0 {
		r = f.takeOver(s, p, f.heatOf(e, e.head)+uint32(cost), e.head)
	}
	if r == 0 {
		s.undercounted++
		return max(e.squeeze(slot, cost), uint32(cost)), cost
	}
	s.promoted++
	s.rings++
	w := e.promote(r, f.mem.counts(r))
	return f.addWarm(w, w.head, slot, cost)
}

// takeOver frees the ring of the coolest warm entry of the page, if it is
// cooler than heat. Its key keeps what fits into pairs.
func (f *half) takeOver(s *shard, p *page, heat, now uint32) ref {
	var victim *warmEntry
	for e := range f.layout.entriesOf(p) {
		if x := f.heatOf(e, now); e.form == warm && x < heat {
			victim, heat = e.asWarm(), x
		}
	}
	if victim == nil {
		return 0
	}
	r := victim.ring
	c := f.mem.counts(r)
	victim.shrink(c)
	*c = ring.Counts{}
	s.undercounted++
	s.rings--
	return r
}
