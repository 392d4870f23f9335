package lapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/crowdsec/lapi"
)

// follower is a bouncer as its authors wrote it, judged by what it enforces.
type follower struct {
	agent    string
	addr     string
	kernel   bool
	newFirst bool // takes in what is new, then takes out what is deleted, as Traefik's
	keepsEnd bool // ignores what is new of an address that it has, as the firewall's
	set      map[string]time.Time
}

// hear does what an answer says.
func (f *follower) hear(t *testing.T, body []byte, now time.Time) {
	t.Helper()
	var got struct{ New, Deleted []one }
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(f.set, func(_ string, until time.Time) bool { return !now.Before(until) })
	remove := func() {
		for _, d := range got.Deleted {
			delete(f.set, d.Value)
		}
	}
	if !f.newFirst {
		remove()
	}
	for _, d := range got.New {
		if _, has := f.set[d.Value]; has && f.keepsEnd {
			continue
		}
		left, err := time.ParseDuration(d.Duration)
		if err != nil {
			t.Fatal(err)
		}
		f.set[d.Value] = now.Add(left)
	}
	if f.newFirst {
		remove()
	}
}

// world is a node's blocks, kept as simply as can be, and the bouncers that follow them.
type world struct {
	*api
	t       *testing.T
	r       *rand.Rand
	live    map[netip.Prefix]lapi.Decision
	lifted  map[netip.Prefix]lapi.Decision // the tombstones
	monitor bool
	// restarts says that the node restarts, too.
	restarts bool
	all      []*follower
	// loose is prefixes that were changed while in force: a bouncer that keeps ends may have
	// an earlier one of these after a restart of the node, as ADR 50 says.
	loose map[string]bool
	// longest is the latest end of each prefix, and lost that of those whose block was
	// made shorter before a restart: nothing says then that a bouncer may have the longer.
	longest, lost map[string]time.Time
}

func valueOf(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// wanted is what is in force now.
func (w *world) wanted() map[netip.Prefix]lapi.Decision {
	maps.DeleteFunc(w.live, func(_ netip.Prefix, d lapi.Decision) bool { return !w.now.Before(d.Until) })
	if w.monitor {
		return nil
	}
	return w.live
}

// replace has the journal read everything, as the node does at its start and where it is
// in doubt.
func (w *world) replace() {
	ended := slices.Collect(maps.Values(w.lifted))
	if w.monitor {
		ended = append(ended, slices.Collect(maps.Values(w.live))...)
	}
	w.journal.Replace(w.now, maps.Values(w.wanted()), slices.Values(ended))
}

func (w *world) any() netip.Prefix {
	if w.r.IntN(3) == 0 {
		return netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x::/64", w.r.IntN(8)))
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(w.r.IntN(8))}), 30+w.r.IntN(3)).Masked()
}

func (w *world) change() {
	p := w.any()
	if _, has := w.live[p]; has && w.restarts {
		w.loose[valueOf(p)] = true
	}
	if w.r.IntN(3) == 0 {
		if d, ok := w.live[p]; ok {
			w.lifted[p] = d
			delete(w.live, p)
		}
		if !w.monitor {
			w.journal.SetDecision(w.now, lapi.Decision{Prefix: p}, false)
		}
		return
	}
	lasts := time.Duration(1+w.r.IntN(72000)) * time.Second
	if w.r.IntN(6) == 0 {
		lasts *= 20
	}
	d := lapi.Decision{Prefix: p, Rule: "site", Until: w.now.Add(lasts), Proxied: w.r.IntN(4) == 0}
	if v := valueOf(p); w.longest[v].Before(d.Until) {
		w.longest[v] = d.Until
	}
	w.live[p] = d
	delete(w.lifted, p)
	if !w.monitor {
		w.journal.SetDecision(w.now, d, true)
	}
}

// restart has the node start again, with its state and without its journal.
func (w *world) restart() {
	maps.Copy(w.lost, w.longest)
	w.journal = lapi.NewJournal()
	w.Server = lapi.New(lapi.Config{Keys: w.keys, Journal: w.journal, Now: func() time.Time { return w.now }})
	w.replace()
}

func (w *world) poll(f *follower) {
	w.t.Helper()
	query, starts := "", w.r.IntN(20) == 0
	if starts {
		query, f.set = "startup=true", map[string]time.Time{}
	}
	w.addr, w.agent = f.addr, f.agent
	got := w.ask("GET", "/v1/decisions/stream?"+query)
	if got.Code != 200 {
		w.t.Fatal(got.Code, got.Body)
	}
	f.hear(w.t, got.Body.Bytes(), w.now)
	w.compare(f)
}

// compare holds that a bouncer that has just asked enforces what is in force.
func (w *world) compare(f *follower) {
	w.t.Helper()
	want := map[string]time.Time{}
	for p, d := range w.wanted() {
		if !(f.kernel && d.Proxied) {
			want[valueOf(p)] = d.Until
		}
	}
	for value, until := range f.set {
		if end, ok := want[value]; !ok {
			if !until.After(w.lost[value].Add(time.Second)) {
				continue
			}
			w.t.Fatalf("%s has %s until %v, which is not in force at %v", f.agent, value, until, w.now)
		} else if off := until.Sub(end).Abs(); off > 2*time.Second && !(f.keepsEnd && w.loose[value]) {
			w.t.Fatalf("%s has %s until %v, want %v", f.agent, value, until, end)
		}
	}
	for value := range want {
		if _, has := f.set[value]; !has && !(f.keepsEnd && w.loose[value]) {
			w.t.Fatalf("%s lacks %s", f.agent, value)
		}
	}
}

// question asks about one address, as bouncers in live mode do for each client.
func (w *world) question(f *follower) {
	addr := w.any().Addr()
	want := 0
	for p, d := range w.wanted() {
		if p.Contains(addr) && !(f.kernel && d.Proxied) {
			want++
		}
	}
	w.addr, w.agent = f.addr, f.agent
	got := w.ask("GET", "/v1/decisions?ip="+addr.String())
	if n := strings.Count(got.Body.String(), `"ban"`); n != want || (want == 0) != (got.Body.String() == "null") {
		w.t.Fatalf("%s is in %d blocks, want %d: %s", addr, n, want, got.Body)
	}
}

// TestModel has bouncers of four kinds follow a node through random days: blocks that
// come, go, last longer and shorter, restarts of either side, answers that are lost, hours
// without a question, and mode monitor. After each answer a bouncer enforces what is in force.
func TestModel(t *testing.T) {
	for seed := range uint64(30) {
		w := &world{restarts: seed%3 == 0, api: newAPI(t), t: t, r: rand.New(rand.NewPCG(seed, 50)), live: map[netip.Prefix]lapi.Decision{}, lifted: map[netip.Prefix]lapi.Decision{}, loose: map[string]bool{}, longest: map[string]time.Time{}, lost: map[string]time.Time{}}
		w.all = []*follower{
			{agent: "crowdsec-firewall-bouncer/v0.0.25", addr: "192.0.2.1:1", kernel: true, keepsEnd: true},
			{agent: "crowdsec-nginx-bouncer/v1", addr: "192.0.2.2:1"},
			{agent: "Crowdsec-Bouncer-Traefik-Plugin/1.X.X", addr: "192.0.2.3:1", newFirst: true},
			{agent: "cs-haproxy-spoa-bouncer/v0.1", addr: "192.0.2.4:1", newFirst: true},
		}
		for _, f := range w.all {
			f.set = map[string]time.Time{}
		}
		for range 800 {
			f := w.all[w.r.IntN(len(w.all))]
			switch w.r.IntN(20) {
			case 0, 1, 2, 3, 4, 5:
				w.change()
			case 6:
				w.now = w.now.Add(time.Duration(w.r.IntN(900_000)) * time.Millisecond)
			case 7:
				if w.r.IntN(10) == 0 {
					w.now = w.now.Add(time.Duration(w.r.IntN(30)) * time.Hour)
				}
			case 8:
				if w.restarts && w.r.IntN(10) == 0 {
					w.restart()
				}
			case 9:
				if w.r.IntN(6) == 0 {
					w.monitor = !w.monitor
				}
				w.replace()
			case 10: // the bouncer was asking when it lost the network
				w.addr, w.agent = f.addr, f.agent
				cut := &cutWriter{ResponseRecorder: httptest.NewRecorder()}
				r := httptest.NewRequest("GET", "/v1/decisions/stream", nil)
				r.RemoteAddr = w.addr
				r.Header.Set("X-Api-Key", w.key)
				r.Header.Set("User-Agent", w.agent)
				w.ServeHTTP(cut, r)
			case 11:
				w.question(f)
			default:
				w.poll(f)
			}
		}
	}
}

// cutWriter is a connection that is gone.
type cutWriter struct{ *httptest.ResponseRecorder }

func (*cutWriter) Write([]byte) (int, error) { return 0, fmt.Errorf("the connection is gone") }
