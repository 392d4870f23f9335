package replay

import (
	"time"

	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// networks has, for each size of network around one meter's keys, the one with
// the greatest count.
type networks map[uint8]shard.Entry

// takePeaks reads the wide tables of one meter of a detector, passes the peak of
// each network to each, and returns how many they evicted. If there are several
// nodes, each counts separately.
func (n *networks) takePeaks(d *detector.Detector, meter *rules.Meter, now time.Time, each func(shard.Entry)) (evicted uint64) {
	if *n == nil {
		*n = make(networks)
	}
	for _, t := range d.Tables() {
		if t.Meter != meter || t.Wide == 0 {
			continue
		}
		evicted += t.Stats().Evicted
		t.EachEntry(uint32(max(0, now.Unix()))/meter.Width, func(e shard.Entry) bool {
			each(e)
			if e.Peak > (*n)[t.Wide].Peak {
				(*n)[t.Wide] = e
			}
			return true
		})
	}
	return evicted
}

// of returns the highest network of each size that a rule counts.
func (n networks) of(rule *rules.Rule, named *names) (out []WidePeak) {
	for _, w := range rule.Widths {
		peak := WidePeak{Width: w, Peak: n[w.Bits].Peak}
		if peak.Peak > 0 {
			peak.Key = named.keyOf(n[w.Bits])
		}
		out = append(out, peak)
	}
	return out
}

// widePeaks returns the highest networks of a rule.
func (l *ledger) widePeaks(rule *rules.Rule) []WidePeak {
	book := &l.meters[rule.Meter]
	return book.wide.of(rule, &book.names)
}

// peaked records the peak of a key or a network of a meter, if it is one of the
// offenders.
func (l *ledger) peaked(meter int, e shard.Entry) {
	for _, i := range l.meters[meter].names.meter.Rules {
		if o := l.rows.kept[rowKey{i, e.Key.Prefix, e.With}]; o != nil {
			o.Peak = max(o.Peak, e.Peak)
		}
	}
}
