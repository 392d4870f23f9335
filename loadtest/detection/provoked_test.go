package main

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/presets"
	"edgeguard/replay"
	"edgeguard/shard"
)

// everyPreset is the newest of each preset.
func everyPreset(t *testing.T) ruleset {
	t.Helper()
	var names []string
	for _, name := range presets.Shipped().Names() {
		names = append(names, presets.Shipped().Newest(name).String())
	}
	sets, err := named([]string{strings.Join(names, ",")})
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

// No preset has a rule that blocks for more than an hour for what a page elsewhere made a
// browser send: what rules.md promises.
func TestPresetsOfProvokedBlocks(t *testing.T) {
	r, longer := everyPreset(t), 0
	for i := range r.set.Rules {
		rule := &r.set.Rules[i]
		if rule.Action != edgeguard.ActionBlock || rule.Blocked(len(rule.Escalate)) <= time.Hour {
			continue
		}
		longer++
		if _, lasts := rule.StepOf(1+len(rule.Escalate), true); lasts > time.Hour {
			t.Errorf("%s: a block that a page provokes lasts %v", rule.Name, lasts)
		}
	}
	if longer == 0 {
		t.Error("no rule blocks for longer than an hour: nothing was tested")
	}
}

// A tab that stays open all day makes its reader's browser post: each block ends within an
// hour. The same by a program that is no browser is blocked for longer in the end, where it is not denied for a day.
func TestTabLeftOpen(t *testing.T) {
	r := everyPreset(t)
	for _, post := range []struct {
		path   string
		n      int // posts each two hours, one a second
		status uint16
		longer bool // a program is blocked for longer, and not denied for a day
	}{{"/xmlrpc.php", 30, 200, true}, {"/login", 30, 401, true}, {"/wp-login.php", 110, 200, false}, {"/wp-login.php", 9, 403, true}} {
		longest := make(map[string]time.Duration)
		for _, agent := range []string{"Mozilla/5.0 (X11; Linux x86_64)", "python-requests/2.32"} {
			var events []edgeguard.Event
			for sec := 0; sec < priceDay; sec += 2 * 3600 {
				for i := range post.n {
					ev := answer(sec+i, guesser, "www.example.org", "POST", post.path, post.status)
					ev.Agent, ev.Known = agent, ev.Known|edgeguard.FieldAgent|edgeguard.FieldReferer
					events = append(events, ev)
				}
			}
			_, err := replay.Run(context.Background(), &memory{events}, replay.Config{Rules: r.set, Memory: shard.NewMemory(64 << 20),
				Crossed: func(c edgeguard.Crossing) {
					if c.Action == edgeguard.ActionBlock && c.Key.Prefix == netip.PrefixFrom(guesser, 32) {
						longest[agent] = max(longest[agent], c.Until.Sub(c.Time))
					}
				}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if page, program := longest["Mozilla/5.0 (X11; Linux x86_64)"], longest["python-requests/2.32"]; page == 0 || page > time.Hour || post.longer != (program > time.Hour) {
			t.Errorf("%s %d: a page's block lasts %v, a program's %v", post.path, post.status, page, program)
		}
	}
}
