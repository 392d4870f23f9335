package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// picturedRules are those of a shop.
const picturedRules = `
enforce: {files: [{file: $DIR/geo.conf, format: nginx-geo}]}
rules:
  - {name: site, threshold: 2000, candidates: [1000, 1500]}
  - {name: login, threshold: 20, match: {path: [/login]}, block_for: 1h}
  - {name: probing, threshold: 60, match: {path: [/wp-admin]}}
  - {name: search, threshold: 600, match: {path: [/search]}, action: shadow}
`

// actor is who sends to the pictured site: how many requests in which slot, of which
// the first 58 lie before the first picture.
type actor struct {
	addr, path string
	in         func(slot int) float64
}

// history is how many slots an actor was there before it is seen.
const history = 58

// actors come one after the other: the last has the newest block.
var actors = []actor{
	{"203.0.113.9", "/", func(int) float64 { return 12 }},
	{"198.51.100.70", "/", func(s int) float64 { return 9 * float64(s%2) }},
	{"198.51.100.8", "/search", func(int) float64 { return 11 }},
	{nearby, "/", func(int) float64 { return 31 }},
	{"192.0.2.144", "/", func(s int) float64 { return 72 * (1 - float64(min(s, 27)/27)) }},
	{"2001:db8:4:2::9", "/login", func(s int) float64 { return 4 * float64(min(s/50, 1)) }},
	{"203.0.113.212", "/", func(int) float64 { return 62 }},
	{"198.51.100.201", "/login", func(s int) float64 { return 3 * float64(s/4%2) }},
	{spread, "/wp-admin", func(int) float64 { return 7 }},
	{"2001:db8:77::1", "/", func(s int) float64 { return 42 * (1 + math.Sin(float64(s)/5)) }},
	{"198.51.100.23", "/wp-admin", func(s int) float64 { return 27 * float64(min(s/45, 1)) }},
	{guesser, "/login", func(int) float64 { return 5 }},
	{offender, "/", func(int) float64 { return 38 }},
}

// traffic writes a site's log: the actors, and three thousand visitors. It is the
// same each time but for the hour. With a pause, an actor comes in each slot, so that
// blocks have different ages. Whom the site refuses it answers with 403.
func traffic(t *testing.T, log *os.File, pause time.Duration, refuses func(addr string) bool) (lines uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	write := func(addr, path string, at time.Time, times float64) {
		for range int(times * (0.8 + 0.4*r.Float64())) {
			lines++
			text := line(addr, at, path)
			if refuses(addr) {
				text = strings.Replace(text, " 200 ", " 403 ", 1)
			}
			if _, err := log.WriteString(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 3000 {
		at := time.Now().Add(-time.Duration(r.IntN(230)) * time.Second)
		write(fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250), "/", at, math.Exp(2+r.NormFloat64()))
	}
	for step, newest := range actors {
		now := time.Now()
		for slot := range history {
			write(newest.addr, newest.path, now.Add(time.Duration(slot-history)*width), newest.in(slot))
		}
		for i, a := range actors[:step] {
			write(a.addr, a.path, now, a.in(history+step-i))
		}
		time.Sleep(pause)
	}
	return lines
}

// onList reports whether a list for nginx has an address.
func onList(path, addr string) bool {
	list, _ := os.ReadFile(path) // it is made with the first block
	for line := range strings.Lines(string(list)) {
		entry, _, _ := strings.Cut(line, " ")
		prefix, err := netip.ParsePrefix(entry)
		if err == nil && prefix.Contains(netip.MustParseAddr(addr)) || entry == addr {
			return true
		}
	}
	return false
}

// The pictures of docs/ are of a real node. CONSOLE_PICTURES names the folder that
// they are written to; without it only their size is looked at.
func TestPictures(t *testing.T) {
	folder, pause := os.Getenv("CONSOLE_PICTURES"), time.Duration(0)
	if folder != "" {
		pause = width
	}
	n, log := follow(t, "edge-fra-1", picturedRules)
	n.block("198.51.100.64/26", "abuse report")
	n.block("203.0.113.9", "scraper, ticket 4711")
	n.allow("198.51.100.128/25", "office")
	want := traffic(t, log, pause, func(addr string) bool { return onList(n.Path("geo.conf"), addr) })
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
		{"rule", "/rules/site?threshold=1200", look{width: 1440, scheme: "light"}},
		{"rule-phone", "/rules/site?threshold=1200", look{width: 360, scheme: "light"}},
		{"rules", "/rules", look{width: 1440, scheme: "light"}},
		{"near", "/blocked/near", look{width: 1440, scheme: "light"}},
		{"activity", "/changes?kind=all", look{width: 1440, scheme: "light"}},
	} {
		b.as(p.look)
		b.open(n.shown + p.path)
		var picture []byte
		b.do(chromedp.FullScreenshot(&picture, 100))
		picture = beginning(t, picture)
		if len(picture) > 240_000 || len(picture) < 10_000 {
			t.Errorf("%s has %d bytes; at most 240,000 are right", p.name, len(picture))
		}
		if folder != "" {
			if err := os.WriteFile(filepath.Join(folder, p.name+".png"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// beginning cuts off what of a long page says nothing new.
func beginning(t *testing.T, picture []byte) []byte {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	part := image.NewRGBA(image.Rect(0, 0, whole.Bounds().Dx(), min(whole.Bounds().Dy(), 1000)))
	draw.Draw(part, part.Bounds(), whole, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, part); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
