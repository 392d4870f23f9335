package fleetlink

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/overlay"
	"edgeguard/node/pipeline"
	"edgeguard/shard"
)

// When the process before ended is of use to this process's first link only: a later
// one would take this process's own heartbeats for another's.
func TestStoppedIsOfTheFirstLink(t *testing.T) {
	c, err := config.Parse("f", []byte("fleet: {redis: 'redis://127.0.0.1:1'}"))
	if err != nil {
		t.Fatal(err)
	}
	f := New(Config{Clock: clockguard.New(clockguard.Read(), clockguard.Config{}), Thresholds: func() overlay.FleetPart { return overlay.FleetPart{} }, Boot: 0xab})
	stopped := time.Unix(1_700_000_000, 0)
	f.peer.boot.stopped = stopped
	first, key := f.config(c)
	if !first.Stopped.Equal(stopped) || first.Boot != "00000000000000ab" || first.Run != "000000ab" {
		t.Errorf("the first link has %v, %s, %s", first.Stopped, first.Boot, first.Run)
	}
	later, same := f.config(c)
	if !later.Stopped.IsZero() || key != same {
		t.Errorf("a later link follows %v, and is another: %v", later.Stopped, key != same)
	}
}

// A node that has just left its fleet has no meter of it: an explanation that began
// before may still ask.
func TestWidthOfANodeAlone(t *testing.T) {
	c := config.Default()
	pipe := pipeline.New(pipeline.Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{})}, c)
	t.Cleanup(pipe.Close)
	if width := (&peer{Config: Config{Pipeline: pipe}}).Width(1); width != 0 {
		t.Errorf("%d s", width)
	}
}

// Two nodes whose rules have the same names and are not the same are an alarm once the nodes have
// told each other, that names rule and node, and ends with the difference, or with the fleet.
func TestOtherRulesAreAnAlarm(t *testing.T) {
	facts := func(digest string, limit uint32) fleet.RuleFacts {
		return fleet.RuleFacts{Digest: strings.Repeat(digest, 16), Rules: []fleet.RuleFact{{Name: "site", Meter: "m1", Limit: limit, Action: "block"}}}
	}
	mine, theirs := facts("a", 190), facts("b", 19)
	var told []string
	var recovered int
	alarms := alarm.New(func(a edgeguard.Alarm) { told = append(told, a.Kind+": "+a.Text) }, func(string, string) { recovered++ })
	pipe := pipeline.New(pipeline.Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{})}, config.Default())
	t.Cleanup(pipe.Close)
	f := New(Config{Clock: clockguard.New(clockguard.Read(), clockguard.Config{}), Alarms: alarms, Pipeline: pipe, Rules: func() fleet.RuleFacts { return mine }})
	now := time.Unix(1_800_000_000, 0)
	step := func(theirs fleet.RuleFacts) int {
		text, err := json.Marshal(theirs)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Second)
		f.rules.Follow(now, "edge-a", mine.Digest, []aggregator.Heartbeat{{Node: "edge-a", Rules: mine.Digest}, {Node: "edge-b", Rules: theirs.Digest}})
		if f.rules.Compares() {
			f.rules.TakeRules("edge-b", string(text))
		}
		f.compare(now)
		return len(alarms.Lasting())
	}
	for i := range 60 {
		if step(theirs) != 0 {
			t.Fatalf("an alarm after %d s, of a config that may be on its way to all", 2*(i+1))
		}
	}
	if step(theirs) != 1 || len(told) != 1 || !strings.HasPrefix(told[0], "fleet_rules: ") || !strings.Contains(told[0], "node edge-b (site: limit 19 there, 190 here)") {
		t.Fatalf("after two minutes: %q", told)
	}
	if step(mine) != 0 || recovered != 1 {
		t.Errorf("of equal rules: %v", alarms.Lasting())
	}
	for range 61 {
		step(theirs)
	}
	if f.Follow(now); len(alarms.Lasting()) != 0 {
		t.Errorf("of a node that left its fleet: %v", alarms.Lasting())
	}
}

// A node whose link cannot be made says so for as long as that is its config.
func TestLinkThatCannotBeMade(t *testing.T) {
	alarms := alarm.New(func(edgeguard.Alarm) {}, func(string, string) {})
	f := New(Config{Clock: clockguard.New(clockguard.Read(), clockguard.Config{}), Alarms: alarms, List: blocklist.New(blocklist.Config{}),
		Thresholds: func() overlay.FleetPart { return overlay.FleetPart{} }})
	c := config.Default()
	c.Fleet = &config.Fleet{Redis: []string{"redis://127.0.0.1:1"}, Push: -1}
	f.Settle(t.Context(), c)
	if all := alarms.Lasting(); len(all) != 1 || all[0].Kind != alarm.Fleet {
		t.Errorf("%+v", all)
	}
	f.Settle(t.Context(), config.Default())
	if all := alarms.Lasting(); len(all) != 0 {
		t.Errorf("it is alone, and %+v", all)
	}
}
