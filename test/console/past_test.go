package console

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/node"
	"edgeguard/snapshot"
	"edgeguard/tuning"
)

// remember stops a node, gives it a history of its first rule, and starts it again.
func (n *ownNode) remember(windows map[time.Time][]uint32) {
	n.t.Helper()
	n.Stop()
	text, err := os.ReadFile(n.Path("config.yaml"))
	if err != nil {
		n.t.Fatal(err)
	}
	c, err := config.Parse("config.yaml", text)
	if err != nil {
		n.t.Fatal(err)
	}
	m := &c.Rules.Meters[c.Rules.Rules[0].Meter]
	w, err := snapshot.Create(filepath.Join(n.Path("state"), node.HistoryFileName), snapshot.Cut{Taken: time.Now()})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, at := range slices.SortedFunc(maps.Keys(windows), time.Time.Compare) {
		var d tuning.Distribution
		for _, count := range windows[at] {
			d.Add(count)
		}
		w.Distribution(snapshot.Distribution{Fingerprint: m.Fingerprint, Window: m.Window, At: at, Form: d.Sparse()})
	}
	if err := w.Commit(); err != nil {
		n.t.Fatal(err)
	}
	n.Launch()
	n.Until("it is ready again", func() bool {
		s, err := n.admin.Status(n.t.Context())
		return err == nil && s.Ready
	})
}

// The last day on the page is that of the API and of counting again, through a
// restart; the time of which nothing is known is named, and is not zero.
func TestTunePast(t *testing.T) {
	n := start(t, "")
	r := rand.New(rand.NewPCG(3, 9))
	last := time.Now().Truncate(5 * time.Minute)
	windows, counts := make(map[time.Time][]uint32), make(map[time.Time][]uint32)
	for i := range 40 {
		if i >= 10 && i < 22 { // an hour is missing
			continue
		}
		at := last.Add(-time.Duration(i) * 5 * time.Minute)
		for range r.IntN(30) {
			counts[at.UTC().Add(-5*time.Minute)] = append(counts[at.UTC().Add(-5*time.Minute)], uint32(1+r.IntN(60))) // exact below 64
		}
		windows[at] = counts[at.UTC().Add(-5*time.Minute)]
	}
	n.remember(windows)
	const threshold, over = 41, 39 // its limit
	var api admin.RuleHistory
	n.json(fmt.Sprintf("/api/v1/rules/site/history?threshold=%d", threshold), &api)
	if api.TriedLimit != over || api.Limit != limit || api.Step != 300 || len(api.Windows) < len(windows)-1 {
		t.Fatalf("%+v, want %d windows", api, len(windows))
	}
	body, known := n.get(fmt.Sprintf("/rules/site?threshold=%d", threshold), false).body, 0
	for _, w := range api.Windows {
		all, mine := counts[w.From]
		if !mine && w.Keys == 0 { // the node has kept one since, or it was empty
			continue
		}
		known++
		keys, requests, above := 0, 0, 0
		for _, count := range all {
			if requests += int(count); count > over {
				keys, above = keys+1, above+int(count)-over
			}
		}
		if int(w.Keys) != len(all) || int(w.Requests) != requests || int(w.Tried.Keys) != keys || w.Live.Keys != 0 || w.Tried.RequestShare != float64(above)/float64(max(requests, 1)) {
			t.Errorf("%v: %+v %+v, counting %d of %d with %d of %d", w.From, w, *w.Tried, keys, len(all), above, requests)
		}
		row := fmt.Sprintf(`<td class="num mono">%d</td><td class="num mono">%d</td><td class="num hide-s">%s</td><td class="num mono">0</td>`, len(all), keys, percent(above, max(requests, 1)))
		if !regexp.MustCompile(w.From.Format("15:04:05") + `</td>` + regexp.QuoteMeta(row)).MatchString(body) {
			t.Errorf("%v: the page lacks %s", w.From, row)
		}
	}
	if known < 20 {
		t.Errorf("%d windows are known", known)
	}
	gap := last.Add(-22 * 5 * time.Minute).UTC()
	if row := regexp.MustCompile(gap.Format("15:04:05") + `</td><td colspan="5" class="muted">not known until `); !row.MatchString(body) {
		t.Errorf("the page names no gap from %v:\n%s", gap, body)
	}
}
