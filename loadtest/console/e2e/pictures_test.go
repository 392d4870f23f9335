package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// picturedRules are those of a shop.
const picturedRules = `
rules:
  - {name: site, threshold: 2000, candidates: [1000, 1500]}
  - {name: login, threshold: 20, match: {path: [/login]}, block_for: 1h}
  - {name: probing, threshold: 60, match: {path: [/wp-admin]}}
  - {name: search, threshold: 600, match: {path: [/search]}, action: shadow}
`

// actor is who sends to the pictured site: how many requests in which slot of sixty.
type actor struct {
	addr, path string
	in         func(slot int) float64
}

var actors = []actor{
	{offender, "/", func(s int) float64 { return 39 }},
	{"203.0.113.212", "/", func(s int) float64 { return 62 }},
	{"2001:db8:77::1", "/", func(s int) float64 { return 42 * (1 + math.Sin(float64(s)/5)) }},
	{guesser, "/login", func(s int) float64 { return 5 }},
	{"198.51.100.201", "/login", func(s int) float64 { return 3 * float64(s/4%2) }},
	{"2001:db8:4:2::9", "/login", func(s int) float64 { return 4 * float64(s/50) }},
	{"198.51.100.23", "/wp-admin", func(s int) float64 { return 27 * float64(s/45) }},
	{spread, "/wp-admin", func(s int) float64 { return 7 }},
	{"198.51.100.8", "/search", func(s int) float64 { return 11 }},
	{nearby, "/", func(s int) float64 { return 31 }},
	{"192.0.2.144", "/", func(s int) float64 { return 72 * (1 - float64(min(s, 27)/27)) }},
}

// traffic writes five minutes of the pictured site into a log: the actors, and
// three thousand visitors. It is the same each time but for the hour.
func traffic(t *testing.T, log *os.File) (lines uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	first := time.Now().Truncate(width).Add(-58 * width)
	var all []string
	add := func(slot int, addr, path string) {
		at := first.Add(time.Duration(slot) * width).Add(time.Duration(r.IntN(5)) * time.Second)
		all = append(all, at.UTC().Format("2006-01-02T15:04:05Z")+line(addr, at, path))
	}
	for slot := range 58 {
		for _, a := range actors {
			for range int(a.in(slot) * (0.8 + 0.4*r.Float64())) {
				add(slot, a.addr, a.path)
			}
		}
	}
	for i := range 3000 {
		for range int(math.Exp(2 + r.NormFloat64())) {
			add(r.IntN(58), fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250), "/")
		}
	}
	slices.Sort(all) // by time
	var text strings.Builder
	for _, entry := range all {
		text.WriteString(entry[len("2006-01-02T15:04:05Z"):])
	}
	if _, err := log.WriteString(text.String()); err != nil {
		t.Fatal(err)
	}
	return uint64(len(all))
}

// The pictures of docs/ are of a real node. CONSOLE_PICTURES names the folder that
// they are written to; without it only their size is looked at.
func TestPictures(t *testing.T) {
	folder := os.Getenv("CONSOLE_PICTURES")
	n, log := follow(t, "edge-fra-1", picturedRules)
	n.block("198.51.100.64/26", "abuse report")
	n.block("203.0.113.9", "scraper, ticket 4711")
	n.allow("198.51.100.128/25", "office")
	want := traffic(t, log)
	n.Until("all lines are counted", func() bool { return n.status().Events.Decided >= want })
	b := newTab(t)
	b.operator()
	for _, p := range []struct {
		name, path string
		look
	}{
		{"blocked", "/blocked", look{width: 1440, scheme: "light"}},
		{"blocked-dark", "/blocked", look{width: 1440, scheme: "dark"}},
		{"blocked-phone", "/blocked", look{width: 360, scheme: "light"}},
		{"address", "/address/" + offender, look{width: 1440, scheme: "light"}},
		{"address-dark", "/address/" + offender, look{width: 1440, scheme: "dark"}},
		{"address-phone", "/address/" + offender, look{width: 360, scheme: "dark"}},
		{"rule", "/rules/site", look{width: 1440, scheme: "light"}},
		{"rule-phone", "/rules/site", look{width: 360, scheme: "light"}},
		{"rules", "/rules", look{width: 1440, scheme: "light"}},
		{"near", "/near", look{width: 1440, scheme: "light"}},
		{"activity", "/activity", look{width: 1440, scheme: "light"}},
	} {
		b.as(p.look)
		b.open(n.shown + p.path)
		var picture []byte
		b.do(chromedp.FullScreenshot(&picture, 100))
		if len(picture) > 200_000 || len(picture) < 10_000 {
			t.Errorf("%s has %d bytes; at most 200,000 are right", p.name, len(picture))
		}
		if folder != "" {
			if err := os.WriteFile(filepath.Join(folder, p.name+".png"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
