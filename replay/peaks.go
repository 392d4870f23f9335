package replay

import (
	"net/netip"
	"time"

	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// peaks is what the tables of one meter have at the end, by key: those of all
// nodes together, if there are several.
type peaks map[peakKey]shard.Entry

// peakKey is a key as the tables name it.
type peakKey struct {
	prefix netip.Prefix
	with   uint64 // fingerprint of the attributes
}

// takePeaks adds the keys of a detector's tables, and returns how many they evicted.
// Of a key that several nodes saw it keeps the greatest count.
func (p *peaks) takePeaks(d *detector.Detector, meter *rules.Meter, now time.Time) (evicted uint64) {
	if *p == nil {
		*p = make(peaks)
	}
	for _, table := range d.Tables() {
		if table.Meter != meter || table.Wide > 0 {
			continue
		}
		evicted += table.Stats().Evicted
		table.EachEntry(uint32(max(0, now.Unix()))/meter.Width, func(e shard.Entry) bool {
			key := peakKey{e.Key.Prefix, e.With}
			if known := (*p)[key]; known.Peak > e.Peak {
				e.Peak, e.Count = known.Peak, max(known.Count, e.Count)
			}
			(*p)[key] = e
			return true
		})
	}
	return evicted
}
