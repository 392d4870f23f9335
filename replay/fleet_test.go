package replay_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
)

// A fleet of which one node's log knows only what stands before it says so.
func TestFleetOfFrontDoors(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(context.Background(), server.Client()); err != nil {
		t.Fatal(err)
	}
	set, problems := rules.Compile([]rules.Spec{{Name: "r", Threshold: 100, Guard: "1"}})
	if problems != nil {
		t.Fatal(problems)
	}
	for addr, want := range map[string]string{"10.0.0.7": "private", "203.0.113.9": ""} {
		var events []edgeguard.Event
		for i := range 20 {
			events = append(events, edgeguard.Event{Time: time.Unix(1_700_000_000+int64(i), 0), Addr: netip.MustParseAddr("198.51.100.7"), Node: "a", Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest})
			if i%2 > 0 {
				events[i].Addr, events[i].Node = netip.MustParseAddr(addr), "b"
			}
		}
		report, err := replay.RunFleet(context.Background(), &once{events: events}, replay.Config{Rules: set, Memory: shard.NewMemory(64 << 20)},
			replay.Fleet{Redis: redis.Config{Addresses: []string{server.Addr}, Namespace: "doors-" + want}, MaxNodes: 9})
		if err != nil || report.FrontDoor != want {
			t.Errorf("%s: %q, want %q, %v", addr, report.FrontDoor, want, err)
		}
	}
}

// TestFleet adds nine real nodes up through a real Redis: 50 of 231 keys at a
// threshold of 10, and 19 of 80 at 20, are seen only so; of the log's first quarter 11 of 45.
func TestFleet(t *testing.T) {
	const marx, marxEvents = "csv:time=datetime,addr=src,node=host", 286565
	if raceEnabled {
		t.Skip("one goroutine and a quarter of an hour: not under the race detector")
	}
	server := redistest.Start(t, redistest.Options{})
	client := server.Client()
	if _, err := redis.Install(context.Background(), client); err != nil {
		t.Fatal(err)
	}
	// Pushes every 10 s find the same addresses, in fewer round trips.
	push := 10 * time.Second
	if os.Getenv("TORTURE") != "" {
		push = redis.DefaultPush
	}
	for _, test := range []struct {
		threshold    uint32
		quiet        bool
		events       int
		whole, alone int
	}{{20, true, 70_000, 45, 34}, {20, true, marxEvents, 80, 61}, {20, false, marxEvents, 80, 61}, {10, true, marxEvents, 231, 181}, {10, false, marxEvents, 231, 181}} {
		t.Run(fmt.Sprintf("T=%d quiet=%v %d", test.threshold, test.quiet, test.events), func(t *testing.T) {
			t.Parallel()
			if test.events == marxEvents && push != redis.DefaultPush {
				t.Skip("half a minute: only with TORTURE=1")
			}
			events := eventsOf(t, replay.SortByTime(openLog(t, marx, "honeypot-marx-2013a", "marx.csv.gz"), 0))
			set, problems := rules.Compile([]rules.Spec{{Name: "r", Threshold: test.threshold - 1, Guard: "1"}})
			if problems != nil {
				t.Fatal(problems)
			}
			report, err := replay.RunFleet(context.Background(), &once{events[:test.events]},
				replay.Config{Rules: set, Memory: shard.NewMemory(256 << 20)},
				replay.Fleet{
					Redis: redis.Config{Addresses: []string{server.Addr}, Push: push, Namespace: fmt.Sprintf("replay-%d-%v-%d", test.threshold, test.quiet, test.events)},
					Quiet: test.quiet, MaxNodes: 9,
				})
			if err != nil {
				t.Fatal(err)
			}
			offenders := report.Rules[0].Offenders
			if report.Events != uint64(test.events) || report.Late != 0 || len(offenders) != test.whole {
				t.Errorf("%d events, %d late, %d found, want %d, 0, %d", report.Events, report.Late, len(offenders), test.events, test.whole)
			}
			together := 0
			for _, o := range offenders {
				if o.Fleet {
					together++
				}
			}
			if together < test.whole-test.alone {
				t.Errorf("%d seen first by adding up, want %d at least: those that no node reaches alone", together, test.whole-test.alone)
			}
		})
	}
}
