package console

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
)

var eleven = time.Date(2026, 11, 29, 11, 0, 0, 0, time.UTC)

// fourSteps is a span of four minutes: nothing is known of the first two, in which the node started.
func fourSteps() admin.Hours {
	return admin.Hours{
		Begin: eleven, Until: eleven.Add(4 * time.Minute), AsOf: eleven.Add(4 * time.Minute), Step: 60, Started: eleven.Add(110 * time.Second),
		Minutes: []int{0, 0, 1, 1}, Requests: []uint64{0, 0, 1000, 2000}, Refused: []uint64{0, 0, 0, 1500}, Blocks: []uint64{0, 0, 0, 12}, Failed: []uint64{0, 0, 7, 0},
		Rules: []admin.HoursRule{{Rule: "<i>x", Refused: []uint64{0, 0, 0, 1000}}}, Others: []uint64{0, 0, 0, 500},
		Marks: []admin.Mark{{Time: eleven.Add(200 * time.Second), Kind: admin.MarkBlocks, Text: "12 blocks were made"}},
	}
}

func chartText(t *testing.T, c *timeChart) string {
	t.Helper()
	var page strings.Builder
	if err := newLayout(nil, newAssets(files)).templates["changes.html"].ExecuteTemplate(&page, "timechart", c); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// A span is drawn and listed, what is not known is grey and says why, and a rule's name is text.
func TestTimeChart(t *testing.T) {
	at, _ := url.Parse("/changes?kind=block&last=1h&done=x")
	page := chartText(t, newTimeChart(fourSteps(), timeSpan{Last: time.Hour}, at))
	for _, want := range []string{
		"<h2>The last hour</h2>", `href="/changes?kind=block&amp;last=1h" aria-current="true"`, `href="/changes?kind=block&amp;last=6h">`,
		`from=2026-11-29T10%3A56%3A00Z&amp;kind=block&amp;until=2026-11-29T11%3A00%3A00Z">earlier`,
		"3,000 requests, at most 2,000 a minute at 11:03; 50.0 % refused, most by &lt;i&gt;x.",
		`<rect class="gone" x="0.00%" width="50.00%"`, "not known: the node started at 11:01", `<td class="mono">11:00</td><td colspan="4" class="muted">not known until 11:02</td>`,
		`<path class="by0" d="M3.1 1000v-455h.8v455z"><title>&lt;i&gt;x</title>`, `<path class="by1 others" d="M3.1 545v-227h.8v227z">`, `<path class="line" d="M2 545H3V91H4"/>`,
		`x="87.50%" y="-8">▼<title>11:03 12 blocks were made</title>`, `<b class="blocks">▼ 10 blocks or more in a minute</b>`, `<rect class="fails" x="50.00%" width="25.00%"`,
		`<td class="mono">11:03</td><td class="num mono">2,000</td><td class="num mono">1,500</td><td class="num mono hide-s">12</td><td><bdi>&lt;i&gt;x 1,000, others 500</bdi></td>`,
		"29 Nov 11:03:20", `aria-labelledby="time-title time-desc"`, "refused by, from below:",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if strings.Contains(page, ">later<") || strings.Contains(page, "would") {
		t.Error("the last hour has nothing later, and this node refuses")
	}
}

// In a fleet the chart says whose figures it has, and whose not.
func TestTimeChartOfAFleet(t *testing.T) {
	h := fourSteps()
	h.Nodes, h.Silent = []string{"edge-2"}, []string{"<b>edge-3", "edge-4", "edge-5", "edge-6"}
	if page := chartText(t, newTimeChart(h, timeSpan{}, &url.URL{Path: "/"})); !strings.Contains(page, "Of 2 nodes together. Not of &lt;b&gt;edge-3, edge-4, edge-5 and others: they have said no figures yet.") {
		t.Error(page)
	}
}

// In mode monitor nothing is said to be refused.
func TestTimeChartInMonitor(t *testing.T) {
	h := fourSteps()
	h.Monitor = true
	page := chartText(t, newTimeChart(h, timeSpan{}, &url.URL{Path: "/"}))
	if n := strings.Count(page, "would be refused") + strings.Count(page, "Would be refused"); n != strings.Count(page, "efused") || n < 4 {
		t.Errorf("%d in\n%s", n, page)
	}
	if !strings.Contains(page, ">later<") || !strings.Contains(page, "<h2>11:00 to 11:04 UTC</h2>") {
		t.Errorf("a span of the past:\n%s", page)
	}
}

// Quiet, empty and unknown times have sentences of their own.
func TestTimeChartSays(t *testing.T) {
	for want, change := range map[string]func(h *admin.Hours){
		"Nothing is known of this time.": func(h *admin.Hours) {
			*h = admin.Hours{Begin: eleven, Until: eleven.Add(time.Minute), Step: 60, Minutes: []int{0}, Requests: []uint64{0}, Refused: []uint64{0}, Blocks: []uint64{0}, Failed: []uint64{0}}
		},
		"No request was counted in this time.":     func(h *admin.Hours) { h.Requests = make([]uint64, 4) },
		"at most 2,000 a minute at 11:03; 0 % ref": func(h *admin.Hours) { h.Refused, h.Rules, h.Others = make([]uint64, 4), nil, nil },
	} {
		h := fourSteps()
		change(&h)
		if c := newTimeChart(h, timeSpan{}, &url.URL{Path: "/"}); !strings.Contains(c.Says, want) {
			t.Errorf("%q, want %q", c.Says, want)
		}
	}
}

// A page's query names a span; one that is none says how to name one.
func TestReadSpan(t *testing.T) {
	for query, want := range map[string]string{
		"":                           "10:00 11:00 1h0m0s",
		"last=6h":                    "05:00 11:00 6h0m0s",
		"from=2026-11-29T02:00:00Z":  "02:00 03:00 0s",
		"until=2026-11-29T02:14:00Z": "01:14 02:14 0s",
		"from=2026-11-29T02:00:00%2B01:00&until=2026-11-29T02:30:00Z": "01:00 02:30 0s",
		"last=5h":                   "use last=1h",
		"from=yesterday":            "use 2026-03-01T12:00:00Z",
		"until=2026-11-29+02:00":    "use 2026-03-01T12:00:00Z",
		"from=2026-11-30T00:00:00Z": "the node's time is 2026-11-29T11:00:00Z",
		"from=2026-09-29T00:00:00Z&until=2026-11-29T00:00:00Z": "set from to a later time",
		"from=2026-11-29T02:00:00Z&until=2026-11-29T02:00:00Z": "set until to a time after from",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		s, p := readSpan(q, eleven)
		got := s.From.UTC().Format("15:04 ") + s.Until.UTC().Format("15:04 ") + s.Last.String()
		if p != nil {
			if got != "10:00 11:00 1h0m0s" || p.Status != 400 {
				t.Errorf("%s: %s, %d", query, got, p.Status)
			}
			got = p.Fix
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
