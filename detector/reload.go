package detector

import (
	"edgeguard/rules"
	"edgeguard/shard"
)

// former looks for the meter in an earlier detector, whose tables it can take
// over: its fingerprint says that both count the same.
func (m *meter) former(c *Config) *meter {
	old := c.Previous
	if old == nil || old.config.Memory != c.Memory || old.config.Peaks != c.Peaks {
		return nil
	}
	for i := range old.meters {
		if kept := &old.meters[i]; kept.Fingerprint == m.Fingerprint {
			return kept
		}
	}
	return nil
}

// formerTally finds the tally of a candidate that was there before.
func formerTally(c *Config, r *rules.Rule, candidate rules.Candidate) *tally {
	old := c.Previous
	if old == nil {
		return nil
	}
	for i := range old.rules {
		former := &old.rules[i]
		if former.Name != r.Name || old.meters[former.Meter].Fingerprint != c.Rules.Meters[r.Meter].Fingerprint {
			continue
		}
		for k, known := range former.Candidates {
			if known == candidate {
				return former.tallies[k]
			}
		}
	}
	return nil
}

// Close frees the memory of the tables, except those that next, which may be nil,
// took over from its Previous. Call it when no decision uses d any more: a reload
// makes the next detector, swaps the two, waits for the decisions under way, and
// closes the previous one.
func (d *Detector) Close(next *Detector) {
	kept := make(map[*shard.Table]bool)
	if next != nil {
		for _, t := range next.Tables() {
			kept[t.Table] = true
		}
		for t := range next.asideTables {
			kept[t.Table] = true
		}
	}
	for t := range d.asideTables {
		if !kept[t.Table] {
			t.Table.Close()
		}
	}
	for _, t := range d.Tables() {
		if !kept[t.Table] {
			t.Table.Close()
		}
	}
}
