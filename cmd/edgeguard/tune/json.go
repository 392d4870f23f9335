package tune

import (
	"encoding/json"
	"io"
	"time"

	"edgeguard/cmd/edgeguard/output"
	"edgeguard/frontdoor"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
	"edgeguard/replay"
	"edgeguard/tuning"
	"edgeguard/tuning/evidence"
)

// doorJSON is the warning that the log knows only what stands before the site.
type doorJSON struct {
	Type      string `json:"type"`
	FrontDoor string `json:"front_door"` // private, or a CDN's name
	Text      string `json:"text"`
}

// ruleJSON is one rule as tune prints it.
type ruleJSON struct {
	Type      string `json:"type"`
	Rule      string `json:"rule"`
	Threshold uint32 `json:"threshold"`
	Limit     uint32 `json:"limit"`
	// Allowed is the limit in what Counts says, such as attempts, each of which counts Unit.
	// All other counts are as the rule counts them.
	Allowed uint32 `json:"allowed"`
	Counts  string `json:"counts"`
	Unit    uint32 `json:"unit"`
	Window  string `json:"window"`
	// LeftOut is how many events are in no count because the site failed.
	LeftOut uint64 `json:"left_out,omitempty"`
	// Over is what the keys over the limit look like.
	Over caughtJSON `json:"over"`
	// People is what the rule says of people.
	People     *peopleJSON     `json:"people,omitempty"`
	Keys       uint64          `json:"keys"`
	Events     uint64          `json:"events"`
	Peaks      PeaksJSON       `json:"peaks"`
	Top        []topJSON       `json:"top"`
	Wide       []wideJSON      `json:"wide,omitempty"`
	Thresholds []outcomeJSON   `json:"thresholds"`
	Suggestion *suggestionJSON `json:"suggestion,omitempty"`
	// Normal is the same of a normal day: with Highest, the highest count of a key that
	// does not look hostile.
	Normal *normalJSON `json:"normal,omitempty"`
	// Reason says why there is no suggestion, and Brief in a few words why there is none or
	// this one.
	Reason string `json:"reason,omitempty"`
	Brief  string `json:"brief"`
	// Holdout is what the suggestion did in the last third of the log.
	Holdout *holdoutJSON `json:"holdout,omitempty"`
}

type caughtJSON struct {
	Hostile int `json:"hostile"`
	Benign  int `json:"benign"`
	Unknown int `json:"unknown"`
}

type peopleJSON struct {
	Count uint32 `json:"count"`
	Scene string `json:"scene"`
}

// holdoutJSON has what is over the suggested limit in the last third of the log, and over the
// rule's, if it was looked at; else why it was not.
type holdoutJSON struct {
	Unchecked string      `json:"unchecked,omitempty"`
	Suggested *caughtJSON `json:"suggested,omitempty"`
	Rule      *caughtJSON `json:"rule,omitempty"`
	Withdrawn bool        `json:"withdrawn,omitempty"`
}

func holdoutOf(h *tuning.Holdout) *holdoutJSON {
	switch {
	case h == nil:
		return nil
	case h.Unchecked != "":
		return &holdoutJSON{Unchecked: h.Unchecked}
	}
	then, now := caughtJSON(h.Then), caughtJSON(h.Now)
	return &holdoutJSON{Suggested: &then, Rule: &now, Withdrawn: h.Withdrawn}
}

type normalJSON struct {
	Keys    uint64    `json:"keys"`
	Peaks   PeaksJSON `json:"peaks"`
	Highest uint32    `json:"highest"`
}

// PeaksJSON is where the keys' greatest counts lie.
type PeaksJSON struct {
	P50  uint32 `json:"p50"`
	P90  uint32 `json:"p90"`
	P99  uint32 `json:"p99"`
	P999 uint32 `json:"p999"`
	Max  uint32 `json:"max"`
}

// PeaksOf returns where the greatest counts lie.
func PeaksOf(d *tuning.Distribution) PeaksJSON {
	return PeaksJSON{P50: d.Quantile(0.5), P90: d.Quantile(0.9), P99: d.Quantile(0.99), P999: d.Quantile(0.999), Max: d.Max()}
}

// topJSON is a leader. Texts of the log are stripped of what a terminal acts on.
type topJSON struct {
	Key  string `json:"key"`
	Peak uint32 `json:"peak"`
	// Looks is hostile, benign or unknown, and Why says by what.
	Looks        string      `json:"looks"`
	Why          string      `json:"why,omitempty"`
	Requests     uint32      `json:"requests,omitempty"`
	First        string      `json:"first,omitempty"`
	Last         string      `json:"last,omitempty"`
	ErrorShare   float64     `json:"share_4xx"`
	AssetShare   float64     `json:"share_assets"`
	Paths        []oftenJSON `json:"paths,omitempty"`
	Agents       []oftenJSON `json:"agents,omitempty"`
	Network      string      `json:"network,omitempty"`
	InNetwork    []keyJSON   `json:"neighbours,omitempty"`
	Neighbouring int         `json:"neighbours_in_all,omitempty"`
}

// oftenJSON is a text and how many times it came, at least.
type oftenJSON struct {
	Text  string `json:"text"`
	N     uint32 `json:"n"`
	Exact bool   `json:"exact"`
}

type keyJSON struct {
	Key      string `json:"key"`
	Requests uint32 `json:"requests"`
}

type outcomeJSON struct {
	Threshold  uint32  `json:"threshold"`
	Limit      uint32  `json:"limit"`
	Allowed    uint32  `json:"allowed"`
	Keys       uint64  `json:"keys"`
	Events     uint64  `json:"events"`
	EventShare float64 `json:"event_share"`
	// Normal is how many keys it would have refused on a normal day.
	Normal *uint64 `json:"normal_keys,omitempty"`
}

type suggestionJSON struct {
	outcomeJSON
	Low  uint32 `json:"gap_low,omitempty"`
	High uint32 `json:"gap_high,omitempty"`
	// Keep says that the threshold is the rule's own. Hostile, Benign and Unknown are
	// how many keys over its limit look so.
	Keep    bool   `json:"keep,omitempty"`
	Hostile int    `json:"hostile,omitempty"`
	Benign  int    `json:"benign,omitempty"`
	Unknown int    `json:"unknown,omitempty"`
	Reason  string `json:"reason"`
}

// wideJSON is the highest network of one size.
type wideJSON struct {
	Bits   int    `json:"bits"`
	Key    string `json:"key,omitempty"` // none if nothing was counted
	Peak   uint32 `json:"peak"`
	Limit  uint32 `json:"limit"`
	Times  uint32 `json:"times"`
	Action string `json:"action"`
}

func wideOf(rr *replay.RuleReport) (out []wideJSON) {
	for _, w := range rr.Wide {
		one := wideJSON{Bits: int(w.Bits), Peak: w.Peak, Limit: w.Limit, Times: w.Times, Action: w.ActionName()}
		if w.Peak > 0 {
			one.Key = w.Key.String()
		}
		out = append(out, one)
	}
	return out
}

func (f *Found) outcomeOf(o tuning.Outcome) outcomeJSON {
	j := outcomeJSON{Threshold: o.Threshold, Limit: o.Limit, Allowed: o.Limit / f.Tally.Unit.Each, Keys: o.Keys, Events: o.Events, EventShare: o.EventShare}
	if f.Normal != nil {
		keys := f.NormalKeys(o.Threshold)
		j.Normal = &keys
	}
	return j
}

// JSON prints a warning of a front door, one object a rule, and one for each rule and preset that is proposed.
func JSON(out io.Writer, door string, findings []*Found, proposed []evidence.Proposed, presets []Preset) error {
	encoder := json.NewEncoder(out)
	if door != "" {
		if err := encoder.Encode(doorJSON{"warning", door, "the requests come from " + frontdoor.Whose(door) + ". " + frontdoor.Fix}); err != nil {
			return err
		}
	}
	for _, f := range findings {
		if err := encoder.Encode(jsonOf(f)); err != nil {
			return err
		}
	}
	for i := range proposed {
		if err := encoder.Encode(proposalOf(&proposed[i])); err != nil {
			return err
		}
	}
	for _, p := range presets {
		if err := encoder.Encode(presetJSON{"preset", p.Name, p.Hostile, p.Benign, p.Unknown}); err != nil {
			return err
		}
	}
	return nil
}

func jsonOf(f *Found) ruleJSON {
	t := f.Tally
	j := ruleJSON{Type: "tune", Rule: f.Rule.Name, Threshold: f.Rule.Threshold, Limit: f.Rule.Limit,
		Allowed: f.Rule.Limit / f.Tally.Unit.Each, Counts: f.Tally.Unit.Many, Unit: f.Tally.Unit.Each, Window: words.Span(f.Meter.Window), Over: caughtJSON(f.Now), LeftOut: f.ExcusedEvents,
		Brief: f.Suggestion.Brief, Holdout: holdoutOf(f.Suggestion.Holdout),
		Keys: t.Peaks.Total(), Events: t.Events.Total(), Peaks: PeaksOf(&t.Peaks), Top: []topJSON{}, Wide: wideOf(f.RuleReport), Thresholds: []outcomeJSON{}}
	for i := range f.Leaders {
		j.Top = append(j.Top, topOf(&f.Leaders[i]))
	}
	for _, o := range f.Outcomes() {
		j.Thresholds = append(j.Thresholds, f.outcomeOf(o))
	}
	if n := f.Normal; n != nil {
		j.Normal = &normalJSON{n.Tally.Peaks.Total(), PeaksOf(&n.Tally.Peaks), n.Highest}
	}
	if p := f.Rule.People; p.Count > 0 {
		j.People = &peopleJSON{p.Count, p.Scene}
	}
	s := f.Suggestion
	if s.Threshold == 0 {
		j.Reason = s.Reason
		return j
	}
	j.Suggestion = &suggestionJSON{f.outcomeOf(s.Outcome), s.Gap.Low, s.Gap.High, s.Keep, s.Above.Hostile, s.Above.Benign, s.Above.Unknown, s.Reason}
	return j
}

func topOf(l *topKey) topJSON {
	j := topJSON{Key: safetext.Strip(l.Key.String()), Peak: l.Peak.Peak, Looks: [...]string{"unknown", "benign", "hostile"}[l.Looks]}
	r := l.Record
	if r == nil {
		return j
	}
	j.Why, j.Requests, j.Network, j.Neighbouring = l.Why, r.Requests, l.Network.String(), len(l.Neighbours)
	j.First, j.Last = r.First.UTC().Format(time.RFC3339), r.Last.UTC().Format(time.RFC3339)
	j.ErrorShare, j.AssetShare = part(r.Errors, r.Requests), part(r.Assets, r.Requests)
	j.Paths, j.Agents = oftenOf(r.Paths()), oftenOf(r.Agents())
	for _, n := range output.First(l.Neighbours, 3) {
		j.InNetwork = append(j.InNetwork, keyJSON{output.Prefix(n.Prefix), n.Requests})
	}
	return j
}

func oftenOf(all []evidence.Often) (out []oftenJSON) {
	for _, o := range all {
		out = append(out, oftenJSON{safetext.Strip(o.Text), o.N, o.Sure})
	}
	return out
}

func part(some, all uint32) float64 {
	if all == 0 {
		return 0
	}
	return float64(some) / float64(all)
}
