package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/console/draw"
	"edgeguard/internal/words"
)

// timeChart is what a node did in a span of time, as the part `timechart` draws and lists it.
type timeChart struct {
	admin.Hours
	Heading     string
	Wrong       *call.Problem // the span that was asked for is none: this is the last hour
	Ranges      []link
	Label, Says string
	Whose       string // figures they are, in a fleet
	Verb        string // refused, or would be
	Steps       int
	Line        string
	Bars        []timeBar
	Gaps        []draw.Span
	Why         string      // of the gaps
	Fails       []draw.Span // when the site failed
	Pins        []timePin
	Signs       []timePin // what those on the chart mean
	Left, Below []draw.Tick
	Rows        []timeRow
}

// timeBar is the columns of one rule, or of all others.
type timeBar struct {
	Rule  string // "" for all others
	Place int
	Path  string
}

// timePin is the marks of one kind in one step.
type timePin struct{ X, Kind, Sign, Text string }

// timeRow is a step in numbers, or steps of which nothing is known.
type timeRow struct {
	From, To                  string
	Gone                      bool
	Requests, Refused, Blocks uint64
	By                        string
}

// timeSpan is the time that a page shows.
type timeSpan struct {
	From, Until time.Time
	Last        time.Duration // it ends now; 0 for one in the past
}

// lasts are the spans that end now, by how a query names them.
var lasts = []struct {
	Name, Label, Heading string
	Span                 time.Duration
}{{"1h", "1 h", "The last hour", time.Hour}, {"6h", "6 h", "The last 6 hours", 6 * time.Hour}, {"24h", "24 h", "The last 24 hours", 24 * time.Hour}}

// readSpan reads the span of a page's query: last=6h, or from and until.
func readSpan(query url.Values, now time.Time) (timeSpan, *call.Problem) {
	hour := timeSpan{now.Add(-time.Hour), now, time.Hour}
	bad := func(field, detail, fix string) (timeSpan, *call.Problem) {
		return hour, call.NewProblem(http.StatusBadRequest, field, detail, fix)
	}
	q := call.Query{}
	for _, name := range []string{"from", "until", "last"} {
		if text := query.Get(name); text != "" {
			q[name] = text
		}
	}
	if text, given := q["last"]; given {
		for _, l := range lasts {
			if text == l.Name {
				return timeSpan{now.Add(-l.Span), now, l.Span}, nil
			}
		}
		return bad("last", "“"+call.Clip(text)+"” is not one of the spans", "use last=1h, last=6h or last=24h, or from and until")
	}
	from, p := q.Time("from")
	if p != nil {
		return hour, p
	}
	until, p := q.Time("until")
	switch {
	case p != nil:
		return hour, p
	case from.IsZero() && until.IsZero():
		return hour, nil
	case from.IsZero():
		from = until.Add(-time.Hour)
	case until.IsZero():
		until = from.Add(time.Hour)
	}
	switch {
	case !from.Before(until):
		return bad("until", "the time ends before it begins", "set until to a time after from")
	case until.Sub(from) > admin.MostHours:
		return bad("from", "the time is longer than 31 days", "set from to a later time")
	case !from.Before(now):
		return bad("from", "the time is yet to come", "the node's time is "+now.UTC().Format(time.RFC3339))
	}
	return timeSpan{From: from, Until: until}, nil
}

// chartOf returns the chart of the span that a request asks for. Where it asks for none that there
// is, the page says so beside the last hour.
func chartOf(view *admin.View, r *http.Request, page *frame) *timeChart {
	span, p := readSpan(r.URL.Query(), view.Reader().Now())
	c := newTimeChart(view.Hours(r.Context(), span.From, span.Until), span, r.URL)
	if c.Wrong = p; p != nil {
		page.status = p.Status
	}
	return c
}

// newTimeChart draws a span. at is the address of the page, for links to other spans.
func newTimeChart(h admin.Hours, span timeSpan, at *url.URL) *timeChart {
	c := &timeChart{Hours: h, Steps: len(h.Minutes), Verb: "refused", Heading: fmt.Sprintf("%s to %s UTC", clockIn(h.Begin, &h), clockIn(h.Until, &h))}
	if h.Monitor {
		c.Verb = "would be refused"
	}
	for _, l := range lasts {
		if span.Last == l.Span {
			c.Heading = l.Heading
		}
		c.Ranges = append(c.Ranges, link{Name: l.Label, Path: spanPath(at, "last", l.Name), Current: span.Last == l.Span})
	}
	length := h.Until.Sub(h.Begin)
	c.Ranges = append(c.Ranges, link{Name: "earlier", Path: spanPath(at, "from", h.Begin.Add(-length).Format(time.RFC3339), "until", h.Begin.Format(time.RFC3339))})
	if span.Last == 0 {
		c.Ranges = append(c.Ranges, link{Name: "later", Path: spanPath(at, "from", h.Until.Format(time.RFC3339), "until", h.Until.Add(length).Format(time.RFC3339))})
	}
	if len(h.Nodes)+len(h.Silent) > 0 {
		c.Whose = "Of " + words.Plural(len(h.Nodes)+1, "node", "nodes") + " together."
	}
	if n := len(h.Silent); n > 0 {
		c.Whose += " Not of " + strings.Join(h.Silent[:min(n, mostTold)], ", ") + map[bool]string{true: " and others"}[n > mostTold] + ": they have said no figures yet."
	}
	c.draw()
	c.list()
	return c
}

// spanPath returns the address of a page with another span.
func spanPath(at *url.URL, set ...string) string {
	q := at.Query()
	for _, name := range []string{"from", "until", "last", "done"} {
		q.Del(name)
	}
	for i := 0; i < len(set); i += 2 {
		q.Set(set[i], set[i+1])
	}
	return at.Path + "?" + q.Encode()
}

// clockIn writes a time in a span: without a date if all of it is of today.
func clockIn(t time.Time, h *admin.Hours) string {
	if h.AsOf.Sub(h.Begin) < 24*time.Hour {
		return t.Format("15:04")
	}
	return t.Format("2 Jan 15:04")
}

func (c *timeChart) known(step int) bool { return c.Minutes[step] > 0 }

// perMinute returns the averages of all steps.
func (c *timeChart) perMinute(sums []uint64) []float64 {
	all := make([]float64, len(sums))
	for i := range sums {
		all[i] = c.PerMinute(sums, i)
	}
	return all
}

// draw makes the line of requests, the columns of what was refused, gaps, marks and axes.
func (c *timeChart) draw() {
	requests, highest, most := c.perMinute(c.Requests), 1.0, 0
	for i, n := range requests {
		if highest = max(highest, n, c.PerMinute(c.Refused, i)); n > requests[most] {
			most = i
		}
	}
	top := highest * 1.1
	stack := draw.NewStack(c.Steps, top)
	c.Line = stack.Steps(requests, c.known)
	for i, r := range c.Rules {
		c.Bars = append(c.Bars, timeBar{r.Rule, i, stack.Columns(c.perMinute(r.Refused))})
	}
	if c.Others != nil {
		c.Bars = append(c.Bars, timeBar{"", len(c.Rules), stack.Columns(c.perMinute(c.Others))})
	}
	for _, t := range draw.Ticks(top, func(v float64) float64 { return 100 * (1 - v/top) }) {
		c.Left = append(c.Left, draw.Tick{At: t.At + "%", Label: t.Label})
	}
	c.timeTicks()
	c.pins()
	c.say(requests, most)
}

// x is the place of a time, from 0 to 1.
func (c *timeChart) x(t time.Time) float64 {
	return float64(t.Sub(c.Begin)) / float64(c.Until.Sub(c.Begin))
}

// steps is the place of some steps.
func (c *timeChart) steps(from, n int) draw.Span {
	return draw.Span{X: draw.Part(float64(from) / float64(c.Steps)), W: draw.Part(float64(n) / float64(c.Steps))}
}

// timeTicks marks the axis below at whole times.
func (c *timeChart) timeTicks() {
	apart := 5 * 24 * time.Hour
	for _, d := range []time.Duration{48 * time.Hour, 24 * time.Hour, 12 * time.Hour, 4 * time.Hour, 2 * time.Hour, time.Hour, 20 * time.Minute, 10 * time.Minute, 5 * time.Minute, time.Minute} {
		if c.Until.Sub(c.Begin) <= 7*d {
			apart = d
		}
	}
	layout := "15:04"
	if apart >= 24*time.Hour {
		layout = "2 Jan"
	}
	for t, n := c.Begin.Truncate(apart), 0; !t.After(c.Until); t, n = t.Add(apart), n+1 {
		if !t.Before(c.Begin) {
			c.Below = append(c.Below, draw.Tick{At: draw.Part(c.x(t)), Label: t.Format(layout), Minor: n%2 == 1})
		}
	}
}

// signs are what the kinds of marks look like, and what they mean.
var signs = []timePin{
	{Kind: admin.MarkBlocks, Sign: "▼", Text: "10 blocks or more in a minute"},
	{Kind: admin.MarkAlarm, Sign: "!", Text: "an alarm began"},
	{Kind: admin.MarkThreshold, Sign: "◆", Text: "a threshold was changed"},
}

// mostTold is how many marks of one place are told in words.
const mostTold = 3

// pins has one sign for the marks of one kind in a step.
func (c *timeChart) pins() {
	for _, sign := range signs {
		told := make(map[int][]string) // by step
		for _, m := range c.Marks {
			if m.Kind == sign.Kind {
				step := min(max(int(m.Time.Sub(c.Begin)/(time.Duration(c.Step)*time.Second)), 0), c.Steps-1)
				told[step] = append(told[step], m.Time.Format("15:04 ")+m.Text)
			}
		}
		if len(told) > 0 {
			c.Signs = append(c.Signs, sign)
		}
		for _, step := range slices.Sorted(maps.Keys(told)) {
			pin, texts := sign, told[step]
			pin.X, pin.Text = draw.Part((float64(step)+0.5)/float64(c.Steps)), strings.Join(texts[:min(len(texts), mostTold)], "; ")
			if n := len(texts) - mostTold; n > 0 {
				pin.Text += fmt.Sprintf("; and %d more", n)
			}
			c.Pins = append(c.Pins, pin)
		}
	}
}

func sumOf(all []uint64) (sum uint64) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// say sums the chart up in words.
func (c *timeChart) say(requests []float64, most int) {
	all, refused := sumOf(c.Requests), sumOf(c.Refused)
	c.Label = "Requests a minute, and what of them " + map[bool]string{true: "would be", false: "was"}[c.Monitor] + " refused by rule"
	switch {
	case c.Line == "":
		c.Says = "Nothing is known of this time."
	case all == 0:
		c.Says = "No request was counted in this time."
	default:
		c.Says = fmt.Sprintf("%s, at most %s a minute at %s; %s %s", words.Plural(all, "request", "requests"), words.Number(int64(requests[most]+0.5)),
			c.Begin.Add(time.Duration(most*c.Step)*time.Second).Format("15:04"), words.Percent(refused, all), c.Verb)
		if len(c.Rules) > 0 {
			c.Says += ", most by " + c.Rules[0].Rule
		}
		c.Says += "."
	}
}

// list makes the rows of the table, and the gaps that are one row each.
func (c *timeChart) list() {
	step := time.Duration(c.Step) * time.Second
	for i := 0; i < c.Steps; i++ {
		from := c.Begin.Add(time.Duration(i) * step)
		if c.Failed[i] > 0 {
			c.Fails = append(c.Fails, c.steps(i, 1))
		}
		if c.known(i) {
			row := timeRow{From: clockIn(from, &c.Hours), Requests: c.Requests[i], Refused: c.Refused[i], Blocks: c.Blocks[i]}
			var by []string
			for _, r := range c.Rules {
				if n := r.Refused[i]; n > 0 {
					by = append(by, r.Rule+" "+words.Number(int64(n)))
				}
			}
			if c.Others != nil && c.Others[i] > 0 {
				by = append(by, "others "+words.Number(int64(c.Others[i])))
			}
			row.By = strings.Join(by, ", ")
			c.Rows = append(c.Rows, row)
			continue
		}
		n := 1
		for i+n < c.Steps && !c.known(i+n) {
			n++
		}
		until := from.Add(time.Duration(n) * step)
		c.Rows = append(c.Rows, timeRow{From: clockIn(from, &c.Hours), To: clockIn(until, &c.Hours), Gone: true})
		c.Gaps = append(c.Gaps, c.steps(i, n))
		c.Why = cmp.Or(c.Why, "the node did not run")
		if !c.Started.Before(from) && !c.Started.After(until.Add(step)) {
			c.Why = "the node started at " + clockIn(c.Started, &c.Hours)
		}
		i += n - 1
	}
}
