package lists

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
)

// told is what an enforcer that takes changes has been told: each prefix until its end.
type told struct {
	wanted ListSources
	kernel bool
	until  map[netip.Prefix]time.Time
}

func (e *told) whole(b *InForce, now time.Time) {
	clear(e.until)
	for one := range b.All(now, e.wanted) {
		if !e.kernel || !one.Proxied {
			e.until[one.Prefix] = later(e.until[one.Prefix], one.Until)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (e *told) change(b edgeguard.Block, now time.Time) {
	if b.Lifted || !now.Before(b.Until) || e.kernel && b.Proxied {
		delete(e.until, b.Prefix)
	} else {
		e.until[b.Prefix] = b.Until
	}
}

// holds reports whether an address is refused.
func (e *told) holds(now time.Time, addr netip.Addr) bool {
	for p, until := range e.until {
		if p.Contains(addr) && now.Before(until) {
			return true
		}
	}
	return false
}

// world is a node's two lists, and enforcers that follow them as package lists has them do.
type world struct {
	now    time.Time
	c      *config.Config
	blocks *InForce
	set    *imported.Set
	all    []*told
	held   []netip.Prefix // protected
}

func newWorld() *world {
	own := blocklist.New(blocklist.Config{Most: 12})
	w := &world{now: time.Unix(1_800_000_000, 0).UTC(), c: &config.Config{}}
	w.set = imported.New(imported.Config{Own: own, Node: "edge-1", Most: 15, Changed: w.imported})
	w.blocks = &InForce{Current: func() *config.Config { return w.c }, List: own, Imported: w.set, Protected: func() []netip.Prefix { return w.held }}
	for _, e := range []*told{{}, {kernel: true}, {wanted: ownOnly}} {
		e.until = make(map[netip.Prefix]time.Time)
		w.all = append(w.all, e)
	}
	own.OnChange(func(b edgeguard.Block) {
		if b.Allow {
			w.refresh()
		} else {
			w.own(b)
		}
	})
	own.OnEvict(func(b edgeguard.Block) {
		b.Until = b.Since
		w.own(b)
	})
	return w
}

func (w *world) refresh() {
	for _, e := range w.all {
		e.whole(w.blocks, w.now)
	}
}

func (w *world) own(b edgeguard.Block) {
	if w.blocks.InParts(b.Prefix, w.now) {
		w.refresh()
		return
	}
	for _, e := range w.all {
		e.change(w.blocks.Changed(b, w.now, e.wanted, e.kernel), w.now)
	}
}

func (w *world) imported(all []netip.Prefix) {
	if all == nil || slices.ContainsFunc(all, func(p netip.Prefix) bool { return w.blocks.InParts(p, w.now) }) {
		w.refresh()
		return
	}
	for _, e := range w.all {
		for _, p := range all {
			e.change(w.blocks.At(p, w.now, e.wanted, e.kernel), w.now)
		}
	}
}

// step makes one random change, and returns it in words.
func (w *world) step(r *rand.Rand) string {
	p := picked(r)
	until := w.now.Add(time.Duration(1+r.IntN(300)) * time.Second)
	list := w.blocks.List
	switch r.IntN(16) {
	case 0, 1, 2:
		b := edgeguard.Block{Prefix: p, Rule: "site", Since: w.now, Until: until, Proxied: r.IntN(3) == 0}
		_, _, err := list.Add(b, false, w.now)
		return fmt.Sprintf("rule blocks %s for %v, proxied %t: %v", p, until.Sub(w.now), b.Proxied, err)
	case 3:
		_, _, err := list.Add(edgeguard.Block{Prefix: p, Rule: edgeguard.ManualRule, Since: w.now, Until: until}, true, w.now)
		return fmt.Sprintf("an operator forces %s for %v: %v", p, until.Sub(w.now), err)
	case 4, 5:
		_, ok := list.Lift(p, w.now, "", "")
		return fmt.Sprintf("an operator lifts %s: %t", p, ok)
	case 6:
		_, _, err := list.Add(edgeguard.Block{Prefix: p, Rule: edgeguard.ManualRule, Allow: true, Since: w.now, Until: until}, false, w.now)
		return fmt.Sprintf("an operator allows %s for %v: %v", p, until.Sub(w.now), err)
	case 7:
		_, ok := list.Disallow(p, w.now, "", "")
		return fmt.Sprintf("disallow %s: %t", p, ok)
	case 8:
		w.held = []netip.Prefix{picked(r)}
		list.SetProtected(w.held)
		w.refresh()
		return fmt.Sprintf("protected: %v", w.held)
	case 9:
		w.c = &config.Config{Allowlist: []netip.Prefix{picked(r)}}
		list.SetAllow(w.c.Allowlist)
		w.refresh()
		return fmt.Sprintf("allowlist: %v", w.c.Allowlist)
	case 10, 11, 12:
		return w.replaces(r, w.now.Add(time.Duration(r.IntN(300))*time.Second))
	case 13:
		gone := picked(r)
		o := w.set.Apply("crowdsec", []imported.Entry{{Prefix: p, Until: until}}, []netip.Prefix{gone}, w.now)
		return fmt.Sprintf("crowdsec adds %s for %v, lifts %s: %+v", p, until.Sub(w.now), gone, o)
	case 14:
		name := []string{"a", "b"}[r.IntN(2)]
		w.set.DropSource(name, w.now)
		return name + " leaves the config"
	}
	most := 5 + r.IntN(15)
	w.set.SetMost(most, w.now)
	return fmt.Sprintf("max_imported %d", most)
}

func (w *world) replaces(r *rand.Rand, until time.Time) string {
	name := []string{"a", "b"}[r.IntN(2)]
	var entries []imported.Entry
	text := ""
	for range r.IntN(12) {
		e := imported.Entry{Prefix: picked(r), Until: until}
		entries, text = append(entries, e), text+" "+e.Prefix.String()
	}
	o := w.set.Replace(name, entries, w.now)
	return fmt.Sprintf("list %s is%s for %v: %+v", name, text, until.Sub(w.now), o)
}

func picked(r *rand.Rand) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(r.IntN(16))}), 29+r.IntN(4)).Masked()
}

// wrong returns the first address about which an enforcer and the decisions differ.
func (w *world) wrong() string {
	for i := range 16 {
		addr := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		standing, by := w.blocks.List.FindHit(w.now, addr)
		if standing == blocklist.Blocked && slices.ContainsFunc(w.held, func(p netip.Prefix) bool { return p.Contains(addr) && p.Bits() > by.Block().Prefix.Bits() }) {
			continue // forced around a protected address: enforcers leave that out
		}
		spared := standing != blocklist.Blocked && standing != blocklist.None
		listed, _ := w.set.FindHit(w.now, addr)
		want := []bool{!spared && (standing == blocklist.Blocked || listed == blocklist.Blocked), false, standing == blocklist.Blocked}
		want[1] = !spared && listed == blocklist.Blocked
		for _, b := range w.blocks.List.Around(w.now, netip.PrefixFrom(addr, 32)) {
			want[1] = want[1] || standing == blocklist.Blocked && !b.Proxied && !b.Lifted
		}
		for k, e := range w.all {
			if got := e.holds(w.now, addr); got != want[k] {
				return fmt.Sprintf("%s: enforcer %d refuses it: %t, want %t; the own list says %s by %+v, the imported one %s; it was told %v", addr, k, got, want[k], standing, by, listed, e.until)
			}
		}
	}
	return ""
}

// Whatever becomes of the own and the imported blocks, of allowances, protected addresses
// and of the room for imported ones: an enforcer that is told of changes refuses exactly
// what the decisions refuse, until the next change and between two.
func TestAgainstDecisions(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 15))
		w := newWorld()
		var did []string
		for range 120 {
			did = append(did, w.step(r))
			if text := w.wrong(); text != "" {
				t.Fatalf("seed %d: %s\n%v", seed, text, did[max(0, len(did)-12):])
			}
			w.now = w.now.Add(time.Duration(r.IntN(40)) * time.Second)
			w.blocks.List.Sweep(w.now) // allowances that have ended are noted, as once a second in a node
			if r.IntN(2) == 0 {
				for w.set.Sweep(w.now) {
				}
			}
			if text := w.wrong(); text != "" {
				t.Fatalf("seed %d, after a while: %s\n%v", seed, text, did[max(0, len(did)-12):])
			}
		}
	}
}
