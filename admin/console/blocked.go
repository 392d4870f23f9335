package console

import (
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/internal/words"
)

// blockHandlers answer with lists of blocks: all of them, and those of a network.
type blockHandlers struct {
	frames *frames
	reader admin.Reader
	view   *admin.View
}

// pageLength is how many blocks a page shows.
const pageLength = "50"

// stillSends is how long ago the last request of who sends still was refused at most.
const stillSends = 5 * time.Minute

// blockedPage is who is blocked.
type blockedPage struct {
	frame
	Blocked, V4, V6, ByHand int
	Allowed, Imported       int
	Denied                  string // the share of all events that was denied, and how many of those were served
	Refused                 uint64
	Filters                 []filter
	Network                 string // only blocks inside it
	Filtered                bool
	Problem                 *call.Problem // of the filters
	Lists                   []listLine
	Table                   blockTable
	Acts                    []link
	Matches                 string // how many, in words
	All                     link   // unblocks all that match; its Name is empty where that cannot be
	Tick                    string // this page with all ticked
	First, Older            string // pages
	// Newer is where the API lists what this page would, for the script that counts
	// what is newer; empty on a page where the newest are not the first.
	Newer string
	// Counted and Nearest are shown where nobody is blocked.
	Counted   int
	Untouched bool
	Nearest   *keyRow
}

// filter is a choice of what is shown.
type filter struct {
	Name, Label string
	Options     []option
}

type option struct {
	Value, Label string
	Chosen       bool
}

// columnHead is the head of a column of blocks, which puts their list in another order.
type columnHead struct {
	// Cell says which cell of a row, in the template "rows", is below it.
	Cell, Label, Class string
	// Path is the same list in the order of the column; empty where there is none.
	// Sort is its direction where the list is in it.
	Path, Sort, Title string
	order             string
}

// blockColumns are the columns of blocks, from left to right.
var blockColumns = []columnHead{
	{Cell: "who", Label: "Address", order: admin.ByPrefix},
	{Cell: "end", Label: "Ends in", Class: "num", order: admin.ByEnd},
	{Cell: "why", Label: "Rule, and count now / limit", Title: "Sorts by the count when it was blocked", order: admin.ByCount},
	{Cell: "slots", Label: "Last slots", Class: "hide-m"},
	{Cell: "denied", Label: "Denied here", Title: "Events that this node denied because of the block", Class: "num hide-c", order: admin.ByRefused},
	{Cell: "by", Label: "Made by", Class: "hide-m"},
}

// blockTable is blocks, with heads by which they can be put in another order. May says
// that their rows have what changes them, Ticks that several are changed together.
type blockTable struct {
	Heads      []columnHead
	Rows       []blockRow
	May, Ticks bool
	Ticked     bool // all of them
}

// blockRow is one block of a list.
type blockRow struct {
	Prefix, Path string
	Whole        string // the prefix with its length
	Ends, Since  moment
	Left         string // until its end
	Rule, Reason string
	ByHand       bool
	// Count, Limit and Slots are what the block's rule counts now, where Counted
	// says that it counts this prefix.
	Counted      bool
	Count, Limit uint32
	Unit         words.Measure
	Crossed      string // the count when it was blocked, where the rows are in its order
	Slots        []uint16
	Window       int
	// Refused is how many its verdicts denied, empty where nothing of it came since a
	// list has it. Served are those that a log shows as served.
	Refused, Served string
	Sends           string // when the last one was denied
	Origin          string
	Acts            []link
}

// listLine is a list of the blocks that others read. Its name stands once above them.
type listLine struct {
	Name, Path string
	Held       int
	Failing    bool
}

// newListLines returns the lists that have the node's blocks: in mode monitor all are
// empty. A file has its last name, as the page Neighbours has the whole one.
func newListLines(stats *admin.Stats) (all []listLine) {
	if stats.Monitor {
		return nil
	}
	for _, e := range stats.Enforcers {
		line := listLine{Name: e.Name, Path: e.Name, Held: e.Installed, Failing: e.Failing > 0}
		if strings.HasPrefix(e.Name, "/") {
			line.Name = path.Base(e.Name)
		}
		all = append(all, line)
	}
	return all
}

func (p *blockHandlers) blocked(_ http.ResponseWriter, r *http.Request) (string, any) {
	query := r.URL.Query()
	place := placeIn(query)
	asked, f := withOrder(given(query)), p.frames.of(r, "blocked", "Blocked")
	stats := &f.stats
	shown := &blockedPage{
		frame: f, Blocked: stats.V4 + stats.V6, V4: stats.V4, V6: stats.V6, ByHand: stats.ByHand, Allowed: stats.Allowances, Imported: stats.Imports.Blocks,
		Denied: denied(stats), Refused: stats.Refused(),
		Filters: p.filters(asked), Network: asked.Get("prefix"), Filtered: narrows(asked), Lists: newListLines(stats), Acts: f.offer("", "block"),
	}
	asked.Set("limit", pageLength)
	wanted, limit, problem := admin.ReadBlockFilter(&http.Request{URL: &url.URL{RawQuery: asked.Encode()}})
	if problem != nil {
		shown.Problem = problem
		return "blocked.html", shown
	}
	page, now := p.view.BlockPage(r.Context(), wanted, limit), p.reader.Now()
	shown.Table.Heads = columnHeads(asked, &wanted)
	for i := range shown.Table.Heads {
		if h := &shown.Table.Heads[i]; f.Monitor && h.Cell == "denied" {
			h.Label, h.Title = "Would be denied here", "Events that this node would deny because of the block, but for mode monitor"
		}
	}
	for i := range page.Blocks {
		row := p.row(&f, now, &page.Blocks[i])
		if wanted.Order == admin.ByCount {
			row.Crossed = page.Blocks[i].Unit.Of(page.Blocks[i].Count)
		}
		shown.Table.Rows = append(shown.Table.Rows, row)
	}
	if shown.Blocked == 0 {
		shown.Counted, shown.Untouched, shown.Nearest = stats.Tables.Keys, untouched(stats), p.nearest(r.Context())
	}
	if page.Matched != nil {
		place.of = *page.Matched
	}
	shown.Matches = place.matches(&page, shown.Filtered)
	if now.Sub(page.AsOf) > time.Second {
		shown.Matches += " In the order of " + at(page.AsOf, now).Clock + " UTC."
	}
	shown.Table.May, shown.Table.Ticks, shown.Table.Ticked = f.May, f.May, place.ticked
	shown.offerAll(asked, &page, place)
	if wanted.Order == admin.Newest && !wanted.Sorted() && !asked.Has("cursor") {
		shown.Newer = "/api/v1/blocks?" + asked.Encode()
	}
	if asked.Has("cursor") {
		shown.First = "/blocked?" + without(asked, "cursor").Encode()
	}
	if page.Next != "" {
		shown.Older = "/blocked?" + place.next(without(asked, "cursor"), &page).Encode()
	}
	return "blocked.html", shown
}

// denied says of how many events the verdict was to refuse them.
func denied(s *admin.Stats) string {
	t := &s.Events
	text := words.Percent(s.Refused(), t.Decided) + " of all events"
	if t.Served > 0 {
		text += "; " + words.Number(t.Served) + " were served, as logs show"
	}
	return text
}

// given returns the parameters that say what is shown: a form sends empty ones, too.
func given(asked url.Values) url.Values {
	for name, values := range asked {
		if strings.TrimSpace(values[0]) == "" || name == "done" {
			delete(asked, name)
		}
	}
	return asked
}

// narrows reports whether the parameters leave out some blocks.
func narrows(asked url.Values) bool {
	for name := range asked {
		if name != "order" && name != "dir" && name != "cursor" {
			return true
		}
	}
	return false
}

// filters returns the choices with those that were made.
func (p *blockHandlers) filters(asked url.Values) []filter {
	rules := []option{{Label: "all rules"}}
	for _, r := range p.reader.Rules() {
		rules = append(rules, option{Value: r.Name, Label: r.Name})
	}
	for _, l := range p.reader.Imports().Feeds {
		rules = append(rules, option{Value: edgeguard.OwnerRule(l.Name), Label: "list " + l.Name})
	}
	all := []filter{
		{"rule", "Rule", append(rules, option{Value: edgeguard.ManualRule, Label: "by hand"})},
		{"made_by", "Made by", []option{{Label: "anyone"}, {Value: admin.FromHere, Label: "rules, on this node"}, {Value: admin.Manual, Label: "by hand, on this node"}, {Value: admin.FromFleet, Label: "other nodes"}}},
		{"family", "Family", []option{{Label: "IPv4 and IPv6"}, {Value: "ipv4", Label: "IPv4"}, {Value: "ipv6", Label: "IPv6"}}},
		{"order", "Order", []option{{Value: admin.Newest, Label: "newest first"}, {Value: "newest asc", Label: "oldest first"}, {Value: admin.ByEnd, Label: "ends soonest"},
			{Value: "ends desc", Label: "ends last"}, {Value: admin.ByRefused, Label: "refused most"}, {Value: admin.ByLastRefused, Label: "sends still"},
			{Value: admin.ByCount, Label: "highest count when blocked"}, {Value: admin.ByPrefix, Label: "by address"}}},
	}
	for _, f := range all {
		for i := range f.Options {
			f.Options[i].Chosen = f.Options[i].Value == chosenIn(asked, f.Name)
		}
	}
	return all
}

// row returns a block with what its rule counts of it now.
func (p *blockHandlers) row(f *frame, now time.Time, b *admin.ActiveBlock) blockRow {
	row := blockRow{
		Prefix: shortest(b.Prefix), Whole: b.Prefix.String(), Path: pathOf(b.Prefix), Ends: at(b.Until, now), Since: at(b.Since, now), Left: words.Length(b.Until.Sub(now)),
		Rule: blockMaker(b.Rule, b.Imported), Reason: b.Reason, ByHand: b.Rule == edgeguard.ManualRule, Origin: b.Origin,
		Acts: f.offer(shortest(b.Prefix), "unblock", "extend", "allow"),
	}
	if b.Imported {
		row.Acts = f.offer(shortest(b.Prefix), "allow")
	}
	if b.Refused != nil {
		row.Refused = words.Number(*b.Refused)
	}
	if last := b.LastRefused; !last.IsZero() && now.Sub(last) < stillSends {
		row.Sends = "sends still"
	} else if !last.IsZero() {
		row.Sends = "last " + at(last, now).Ago
	}
	if b.Served > 0 {
		row.Served = words.Number(b.Served)
	}
	if row.ByHand {
		return row
	}
	_, counts := p.reader.Glance(now, b.Prefix.Addr())
	for _, c := range counts {
		if c.Rule == b.Rule && c.Key == shortest(b.Prefix) {
			row.Counted, row.Count, row.Limit, row.Unit, row.Slots, row.Window = true, c.Count, c.Limit, c.Unit, c.Slots, c.Window
		}
	}
	return row
}

// shortest writes a prefix without its length where it is one address.
func shortest(prefix netip.Prefix) string {
	if prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	return prefix.String()
}

// pathOf returns the page of an address or a network.
func pathOf(prefix netip.Prefix) string {
	if prefix.IsSingleIP() {
		return "/address/" + prefix.Addr().String()
	}
	return "/network/" + prefix.String()
}
