package main

import (
	"encoding/json"
	"io"
	"time"

	"edgeguard"
	"edgeguard/cmd/edgeguard/tune"
	"edgeguard/hostaddr"
	"edgeguard/replay"
	"edgeguard/tuning"
)

// jsonPrinter prints one object a line.
type jsonPrinter struct {
	out       io.Writer
	err       error
	blocks    int
	protected hostaddr.Set
}

// crossingJSON is a crossing. Its type is the action: block, deny, shadow or
// alarm; or held, where nothing came of it because the site failed. Stands names the rule of a block that stood already and was as strong;
// then the type is deny and until its end.
type crossingJSON struct {
	Type      string `json:"type"`
	Time      string `json:"time"`
	Node      string `json:"node"`
	Rule      string `json:"rule"`
	Key       string `json:"key"`
	Count     uint32 `json:"count"`
	Limit     uint32 `json:"limit"`
	Threshold uint32 `json:"threshold"`
	Wide      uint8  `json:"wide,omitempty"`
	Fleet     bool   `json:"fleet,omitempty"`
	Until     string `json:"until,omitempty"`
	// Protected says why a node would not block the key, whose type is alarm then.
	Protected string `json:"protected,omitempty"`
	Stands    string `json:"stands,omitempty"`
}

// summaryJSON is the last line of a replay.
type summaryJSON struct {
	Type        string `json:"type"`
	Events      uint64 `json:"events"`
	Late        uint64 `json:"late"`
	Early       uint64 `json:"early"`
	Skipped     uint64 `json:"skipped"`
	Suppressed  uint64 `json:"suppressed,omitempty"`
	Keys        uint64 `json:"keys"`
	Blocks      int    `json:"blocks"`
	BlockedKeys int    `json:"blocked_keys"`
	AlarmedKeys int    `json:"alarmed_keys"`
	// ProtectedKeys is how many of the alarmed keys a node protects.
	ProtectedKeys int            `json:"protected_keys"`
	Denied        uint64         `json:"denied"`
	Evicted       uint64         `json:"evicted"`
	Peaks         tune.PeaksJSON `json:"peaks"`
	// FrontDoor says whose addresses the clients are where the log knows only what stands before the site.
	FrontDoor string `json:"front_door,omitempty"`
	// Sorted says that many events came too late, and that all were sorted by time.
	Sorted bool `json:"sorted"`
	// BlocksEvicted is how many blocks made room for others, RowsDropped how many
	// keys' rows the memory had no room for. Approximate says that therefore
	// blocked_keys, alarmed_keys and protected_keys are estimates (within about 1 %).
	BlocksEvicted uint64 `json:"blocks_evicted"`
	RowsDropped   uint64 `json:"rows_dropped"`
	Approximate   bool   `json:"approximate"`
	Floods        int    `json:"floods"`
	// Outages is how often the site failed, ExcusedKeys how many keys would have passed a limit
	// then, of all rules, and Lifted how many blocks were taken back for it. OutageLate answers
	// came more than a minute late: for them the outage watch was off.
	Outages     int    `json:"outages"`
	ExcusedKeys int    `json:"held_keys"`
	Lifted      int    `json:"lifted"`
	OutageLate  uint64 `json:"guard_late"`
}

// floodJSON is a flood of fresh sources that can be forged.
type floodJSON struct {
	Type     string `json:"type"`
	Begin    string `json:"begin"`
	End      string `json:"end"`
	Peak     uint32 `json:"peak"` // sources a second
	PeakTime string `json:"peak_time"`
	Sources  uint64 `json:"sources"`
}

// line prints one object; the first error is kept.
func (p *jsonPrinter) line(v any) {
	b, err := json.Marshal(v)
	if err == nil && p.err == nil {
		_, p.err = p.out.Write(append(b, '\n'))
	}
}

// crossing prints one crossing.
func (p *jsonPrinter) crossing(c edgeguard.Crossing) {
	j := crossingJSON{Type: c.Action.String(), Time: c.Time.UTC().Format(time.RFC3339), Node: c.Node, Rule: c.Rule,
		Key: c.Key.String(), Count: c.Count, Limit: c.Limit, Threshold: c.Threshold, Wide: c.Wide, Fleet: c.Fleet}
	if why, ok := p.protected.Why(c.Key.Prefix); ok {
		j.Protected = why.Reason
	}
	if j.Stands = c.Stands; !c.Until.IsZero() {
		j.Until = c.Until.UTC().Format(time.RFC3339)
	}
	switch {
	case c.Excused:
		j.Type = "held"
	case c.FrontDoor != "" && j.Protected == "":
		j.Type = "front_door"
	}
	if c.Action == edgeguard.ActionBlock {
		p.blocks++
	}
	p.line(j)
}

// summary prints the last line. Keys and peaks are of all meters together.
func (p *jsonPrinter) summary(r *replay.Report, in inputStatus, sorted bool) {
	var peaks tuning.Distribution
	seen := make(map[*tuning.Tally]bool)
	for i := range r.Rules {
		if t := r.Rules[i].Tally; !seen[t] {
			seen[t] = true
			peaks.Merge(&t.Peaks)
		}
	}
	for _, f := range r.Floods {
		p.line(floodJSON{Type: "flood", Begin: f.Begin.Format(time.RFC3339), End: f.End.Format(time.RFC3339),
			Peak: f.Peak, PeakTime: f.PeakAt.Format(time.RFC3339), Sources: f.Sources})
	}
	p.outages(r)
	excused, lifted := countExcused(r)
	p.line(summaryJSON{Type: "summary", Events: r.Events, Late: r.Late, Early: r.Early, Skipped: in.skipped, Suppressed: in.suppressed,
		Keys: peaks.Total(), Blocks: p.blocks, BlockedKeys: r.Keys.Blocked,
		AlarmedKeys: r.Keys.Alarmed, ProtectedKeys: r.Keys.Protected, Denied: r.Denied, Evicted: r.Evicted, Peaks: tune.PeaksOf(&peaks), Sorted: sorted,
		BlocksEvicted: r.BlocksEvicted, RowsDropped: r.RowsDropped, Approximate: r.Keys.About, Floods: len(r.Floods),
		Outages: len(r.Outages), ExcusedKeys: excused, Lifted: lifted, OutageLate: r.OutageLate, FrontDoor: r.FrontDoor})
}
