package redis

import (
	"errors"
	"testing"
	"time"

	"edgeguard/aggregator/fleet"
)

// TestCheckBoot: which heartbeats under a node's field are those of another
// process with its boot, and what follows.
func TestCheckBoot(t *testing.T) {
	stopped := time.Unix(1_800_000_000, 0)
	first, later := fleet.State{Before: stopped.Unix() + 5}, fleet.State{Other: true, Before: stopped.Unix() + 5}
	for _, test := range []struct {
		name    string
		stopped time.Time
		answers []fleet.State
		another bool // process, by the last answer
	}{
		{"a new boot, nothing before", time.Time{}, []fleet.State{{}}, false},
		{"a new boot, whatever was before", time.Time{}, []fleet.State{later}, false},
		{"a kept boot, nothing before", stopped, []fleet.State{{}}, false},
		{"a kept boot, its own last heartbeat before", stopped, []fleet.State{{Other: true, Before: stopped.Unix()}}, false},
		{"a kept boot, one that is younger than its end", stopped, []fleet.State{first}, true},
		{"a kept boot, one in the second of its end", stopped, []fleet.State{{Before: stopped.Unix() + 1}}, false},
		{"a kept boot, its own heartbeats later", stopped, []fleet.State{{}, first}, false},
		{"a kept boot, another's later", stopped, []fleet.State{{}, later}, true},
		{"a new boot, another's later", time.Time{}, []fleet.State{{}, later}, true},
	} {
		for _, once := range []bool{false, true} {
			m := newMember(t, testConfig("127.0.0.1:1", "edge-a"))
			drawn := ""
			m.reboot = func(boot string) bool { drawn = boot; return !once }
			m.config.Stopped = test.stopped
			l, err := New(m.config, testPeer{m})
			if err != nil {
				t.Fatal(err)
			}
			defer l.client.Close()
			for _, s := range test.answers {
				err = l.beats.checkBoot(&s)
			}
			alarmed := m.alarmed("duplicate_boot/redis") != ""
			if alarmed != test.another || (drawn != "") != test.another {
				t.Errorf("%s: alarmed %v, drawn %q; want %v", test.name, alarmed, drawn, test.another)
			}
			changed := test.another && !once
			if errors.Is(err, errBoot) != changed || (l.beats.boot == drawn) != changed {
				t.Errorf("%s, changed before %v: %v, the boot is %s", test.name, once, err, l.beats.boot)
			}
		}
	}
}
