package main

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"edgeguard/replay"
	"edgeguard/tuning"
)

// ladderWith adds the rule's own threshold, its candidates and the suggested
// threshold to a ladder of round ones.
func ladderWith(rr *replay.RuleReport, ladder []tuning.Outcome) []tuning.Outcome {
	t, limitOf := rr.Tally, rr.Rule.Guard.Limit
	extra := []uint32{rr.Rule.Threshold, t.Suggest(limitOf).Threshold}
	for _, c := range rr.Rule.Candidates {
		extra = append(extra, c.Threshold)
	}
	for _, threshold := range extra {
		if threshold > 0 {
			ladder = append(ladder, t.Outcome(threshold, limitOf))
		}
	}
	slices.SortFunc(ladder, func(a, b tuning.Outcome) int { return cmp.Compare(a.Threshold, b.Threshold) })
	return slices.CompactFunc(ladder, func(a, b tuning.Outcome) bool { return a.Threshold == b.Threshold })
}

// tuneJSON is one rule as tune prints it.
type tuneJSON struct {
	Type       string          `json:"type"`
	Rule       string          `json:"rule"`
	Threshold  uint32          `json:"threshold"`
	Limit      uint32          `json:"limit"`
	Keys       uint64          `json:"keys"`
	Events     uint64          `json:"events"`
	Peaks      peaksJSON       `json:"peaks"`
	Top        []topJSON       `json:"top"`
	Wide       []wideJSON      `json:"wide,omitempty"`
	Thresholds []outcomeJSON   `json:"thresholds"`
	Suggestion *suggestionJSON `json:"suggestion,omitempty"`
}

type topJSON struct {
	Key  string `json:"key"`
	Peak uint32 `json:"peak"`
}

type outcomeJSON struct {
	Threshold  uint32  `json:"threshold"`
	Limit      uint32  `json:"limit"`
	Keys       uint64  `json:"keys"`
	Events     uint64  `json:"events"`
	EventShare float64 `json:"event_share"`
}

type suggestionJSON struct {
	outcomeJSON
	Low    uint32 `json:"gap_low,omitempty"`
	High   uint32 `json:"gap_high,omitempty"`
	Reason string `json:"reason"`
}

func outcomeOf(o tuning.Outcome) outcomeJSON {
	return outcomeJSON{o.Threshold, o.Limit, o.Keys, o.Events, o.EventShare}
}

// printTuneJSON prints one object a rule.
func printTuneJSON(out io.Writer, r *replay.Report) error {
	encoder := json.NewEncoder(out)
	for i := range r.Rules {
		if err := encoder.Encode(tuneOf(&r.Rules[i])); err != nil {
			return err
		}
	}
	return nil
}

// tuneOf returns what tune found of one rule. The ten highest keys are in it.
func tuneOf(rr *replay.RuleReport) tuneJSON {
	t, limitOf := rr.Tally, rr.Rule.Guard.Limit
	j := tuneJSON{Type: "tune", Rule: rr.Rule.Name, Threshold: rr.Rule.Threshold, Limit: rr.Rule.Limit,
		Keys: t.Peaks.Total(), Events: t.Events.Total(), Peaks: peaksOf(&t.Peaks), Top: []topJSON{}, Wide: wideOf(rr), Thresholds: []outcomeJSON{}}
	for _, p := range limitRows(t.Top.Sorted(), 10) {
		j.Top = append(j.Top, topJSON{p.Key.String(), p.Peak})
	}
	for _, o := range ladderWith(rr, t.Outcomes(nil, limitOf)) {
		j.Thresholds = append(j.Thresholds, outcomeOf(o))
	}
	if s := t.Suggest(limitOf); s.Threshold > 0 {
		j.Suggestion = &suggestionJSON{outcomeOf(s.Outcome), s.Gap.Low, s.Gap.High, s.Reason}
	}
	return j
}
