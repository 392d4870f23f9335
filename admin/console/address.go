package console

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/console/draw"
	"edgeguard/internal/words"
)

// addressHandlers answer with the page of an address.
type addressHandlers struct {
	frames *frames
	reader admin.Reader
	view   *admin.View
}

// addressPage is all that a node knows of an address.
type addressPage struct {
	frame
	Address  string
	Tag      string // in short
	Bad      bool
	Sentence []clause
	Rule     string // the rule that is drawn
	Distinct string // the field whose different values it counts
	Chart    *draw.Chart
	Live     liveChart
	Slots    []slotRow
	Rules    []ruleRow
	Fleet    []nodePart
	History  []happening
	Acts     []link
	Views    []link   // of the chart: live, and when it was blocked
	Then     *crossed // in the second view
	Asked    []pastRequest
}

// liveChart is what the script of the chart reads.
type liveChart struct {
	Address    string    `json:"address"`
	Rule       string    `json:"rule"`
	Window     int       `json:"window"`
	Each       uint32    `json:"each"` // what one adds to all these figures
	Limit      uint32    `json:"limit"`
	Threshold  uint32    `json:"threshold"`
	Candidates []uint32  `json:"candidates"`
	Slots      []uint16  `json:"slots"`
	Began      time.Time `json:"began"` // of the last slot
	Blocked    bool      `json:"blocked"`
	Refused    string    `json:"refused"` // as the sentence has it; empty for none
}

// slotRow is a slot in numbers.
type slotRow struct {
	Begins, Count, Sum string
}

// ruleRow is what a rule counts of an address.
type ruleRow struct {
	Rule, Path   string
	Shown        bool // in the chart
	Action       string
	Count, Limit uint32
	Unit         words.Measure
}

func (p *addressHandlers) address(w http.ResponseWriter, r *http.Request) (string, any) {
	addr, err := netip.ParseAddr(r.PathValue("address"))
	if err != nil || addr.Zone() != "" {
		return "", &notFound{Text: r.PathValue("address") + " is not an address.", Fix: "Try 203.0.113.7 or 2001:db8::7."}
	}
	if addr.Unmap() != addr || addr.String() != r.PathValue("address") {
		http.Redirect(w, r, "/address/"+addr.Unmap().String(), http.StatusSeeOther)
		return "", nil
	}
	e := p.view.Explanation(r.Context(), addr)
	shown := &addressPage{frame: p.frames.of(r, "address", addr.String()), Address: addr.String()}
	keys := keysOf(addr, &e)
	found, why := p.evidence(keys, &e)
	shown.Sentence = sentence(&e, found, shown.Monitor, waiting(p.reader.Held(), addr))
	shown.Acts = shown.offers(p.reader, netip.PrefixFrom(addr, addr.BitLen()))
	shown.Tag, shown.Bad = tag(&e), e.Block != nil
	rule := r.URL.Query().Get("rule")
	if rule == "" && e.Block != nil && e.Block.Rule != edgeguard.ManualRule {
		rule = e.Block.Rule
	}
	shown.draw(&e, rule)
	then := r.URL.Query().Get("view") == "blocked"
	if shown.views(found, why, then); then && shown.Views != nil {
		shown.drawCrossing(found, why, &e)
	}
	shown.Asked = p.asks(r, addr, keys, &e)
	for i := range e.History {
		shown.History = append(shown.History, happened(&e.History[i], e.Time))
	}
	return "address.html", shown
}

// waiting returns the narrowest held block that contains an address.
func waiting(held []admin.HeldBlock, addr netip.Addr) (found *admin.HeldBlock) {
	for _, h := range held {
		if h.Kind == "block" && h.Prefix.Contains(addr) && (found == nil || h.Prefix.Bits() > found.Prefix.Bits()) {
			found = &h
		}
	}
	return found
}

func tag(e *admin.Explanation) string {
	if e.Block != nil && e.Block.Imported {
		return "blocked" // its end moves on with each fetch
	}
	if e.Block != nil {
		return "blocked · ends " + at(e.Block.Until, e.Time).Ago
	}
	return strings.ReplaceAll(e.Standing, "none", "not blocked")
}

// draw fills in the rules and the chart of one of them: of the one asked for, else
// of the one that the address is nearest to or blocked by.
func (a *addressPage) draw(e *admin.Explanation, rule string) {
	chosen := -1
	for i := range e.Rules {
		c := &e.Rules[i]
		a.Rules = append(a.Rules, ruleRow{Rule: c.Rule, Path: "/address/" + a.Address + "?rule=" + c.Rule, Action: c.Does, Count: c.Count, Limit: c.Limit, Unit: c.Unit})
		better := chosen < 0 || ratio(c) > ratio(&e.Rules[chosen])
		if c.Rule == rule || rule == "" && len(c.Slots) > 0 && better {
			chosen = i
		}
	}
	if chosen < 0 {
		return
	}
	c := &e.Rules[chosen]
	a.Rules[chosen].Shown, a.Rule, a.Distinct = true, c.Rule, c.Distinct
	if c.Fleet != nil {
		a.Fleet = parts(c.Fleet.Nodes, c.Unit)
	}
	if len(c.Slots) == 0 {
		return
	}
	shown, candidates := levels(c.Limit, c.Threshold), []uint32{}
	for _, other := range c.Candidates {
		shown = append(shown, draw.Limit{At: other.Threshold, Class: "candidate", Label: "candidate", Below: -4, Raw: true})
		candidates = append(candidates, other.Threshold)
	}
	drawn := draw.NewChart(c.Slots, c.Window, c.Unit, shown)
	a.Chart, a.Slots = &drawn, slotRows(c, e.Time)
	width := int64(c.Window / len(c.Slots))
	a.Live = liveChart{
		Address: a.Address, Rule: c.Rule, Window: c.Window, Each: max(c.Unit.Each, 1), Limit: c.Limit, Threshold: c.Threshold, Candidates: candidates, Slots: c.Slots,
		Began: time.Unix(e.Time.Unix()/width*width, 0).UTC(), Blocked: e.Block != nil,
	}
	if e.Block != nil && e.Block.Refused != nil && *e.Block.Refused > 0 {
		a.Live.Refused = refusals(*e.Block.Refused)
	}
}

// slotRows returns the slots with the time at which each begins: slots are aligned
// to the epoch, and the last one holds the present.
func slotRows(c *admin.RuleCount, now time.Time) []slotRow {
	width := time.Duration(c.Window/len(c.Slots)) * time.Second
	first := now.Truncate(width).Add(-time.Duration(len(c.Slots)-1) * width)
	sum, rows := uint32(0), make([]slotRow, 0, len(c.Slots))
	for i, n := range c.Slots {
		sum += uint32(n)
		rows = append(rows, slotRow{first.Add(time.Duration(i) * width).UTC().Format("15:04:05"), c.Unit.Amount(uint32(n)), c.Unit.Amount(sum)})
	}
	return rows
}
