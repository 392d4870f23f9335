package console

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/internal/words"
)

// ruleHandlers answer with what the rules count, and what other limits would do.
type ruleHandlers struct {
	frames *frames
	reader admin.Reader
	view   *admin.View
}

// rulesPage is the list of rules.
type rulesPage struct {
	frame
	Rules []ruleLine
}

// ruleLine is a rule and what became of it.
type ruleLine struct {
	admin.Rule
	Link      string
	Span      string // its window
	Blocks    string // for how long it blocks
	Crossings uint64
	// Requests is how many it counted in the windows that ended in the last hour, Refused how
	// many it had refused in that hour. Unknown says that no window has ended in it.
	Requests, Refused uint64
	Unknown           bool
}

// rulePath returns the page of a rule, whose name may have any character but a
// space.
func rulePath(name string) string { return "/rules/" + url.PathEscape(name) }

func newRuleLine(r admin.Rule) ruleLine {
	line := ruleLine{Rule: r, Link: rulePath(r.Name), Span: words.Seconds(r.Window)}
	if r.BlockFor > 0 {
		line.Blocks = words.Seconds(r.BlockFor)
	}
	for _, c := range r.Crossings {
		if c.Action != admin.ActionExcused { // nothing came of those
			line.Crossings += c.Count
		}
	}
	return line
}

// Waits reports whether the rule has not learned its limit.
func (l *ruleLine) Waits() bool { return l.Learned != nil && l.Learned.Pending }

func (p *ruleHandlers) rules(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown := &rulesPage{frame: p.frames.of(r, "rules", "Rules")}
	refused, now := refusedByRule(p.reader.Day(), p.reader.Now()), p.reader.Now()
	for _, rule := range p.reader.Rules() {
		line := newRuleLine(rule)
		line.Refused = refused[rule.Name]
		windows, _ := p.reader.Past(now, rule.Name, time.Hour)
		for i := range windows.All {
			_, requests := windows.All[i].Counts.Total()
			line.Requests += requests
		}
		line.Unknown = len(windows.All) == 0
		shown.Rules = append(shown.Rules, line)
	}
	return "rules.html", shown
}

// refusedByRule returns how many requests each rule had refused in the last hour.
func refusedByRule(day []watch.DayMinute, now time.Time) map[string]uint64 {
	sums := make(map[string]uint64)
	for i := range day {
		if day[i].Begin.Before(now.Add(-time.Hour)) {
			continue
		}
		for name, one := range day[i].Rules {
			sums[name] += one.Denied
		}
	}
	return sums
}

// keyRow is a key beside its limit.
type keyRow struct {
	Rule, RulePath, Key, Path string
	Count, Limit              uint32
	Unit                      words.Measure
	Fleet                     string // what all nodes count
	Share                     string
	More                      int // other rules whose limit it is near
}

func newKeyRow(k *admin.KeyCount) keyRow {
	row := keyRow{Rule: k.Rule, RulePath: rulePath(k.Rule), Key: k.Shown, Count: k.Count, Limit: k.Limit, Unit: k.Unit, Share: words.Percent(k.Count, k.Limit), More: k.More}
	if k.Fleet != nil {
		row.Fleet = k.Unit.Of(k.Fleet.Count)
	}
	if k.Key.Prefix.IsValid() {
		row.Path = pathOf(k.Key.Prefix)
	}
	return row
}

// nearPage is who is over 80 % of a limit.
type nearPage struct {
	frame
	Keys []keyRow
	Far  []keyRow // the nearest where none is near
}

// nearLength is how many keys are looked at, farLength how many of them are shown where
// none is near.
const (
	nearLength = 100
	farLength  = 10
)

// nearest returns the key that is nearest to a limit, nil if none is counted. It is
// of the same look as the page Near a limit.
func (p *blockHandlers) nearest(ctx context.Context) *keyRow {
	for _, k := range p.view.Nearest(ctx, nearLength) {
		row := newKeyRow(&k)
		return &row
	}
	return nil
}

func (p *ruleHandlers) near(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown := &nearPage{frame: p.frames.of(r, "blocked/near", "Near a limit")}
	for _, k := range p.view.Nearest(r.Context(), nearLength) {
		if row := newKeyRow(&k); k.Near() {
			shown.Keys = append(shown.Keys, row)
		} else if len(shown.Far) < farLength {
			shown.Far = append(shown.Far, row)
		}
	}
	return "near.html", shown
}
