package redis

import (
	"errors"
	"testing"
	"time"

	"edgeguard/aggregator/roster"
)

// TestCheckBoot: which heartbeats under a node's field are those of another
// process with its boot, and what follows.
func TestCheckBoot(t *testing.T) {
	stopped := time.Unix(1_800_000_000, 0)
	first, later := roster.State{Before: stopped.Unix() + 5}, roster.State{Other: true, Before: stopped.Unix() + 5}
	for _, test := range []struct {
		name    string
		stopped time.Time
		answers []roster.State
		another bool // process, by the last answer
	}{
		{"a new boot, nothing before", time.Time{}, []roster.State{{}}, false},
		{"a new boot, whatever was before", time.Time{}, []roster.State{later}, false},
		{"a kept boot, nothing before", stopped, []roster.State{{}}, false},
		{"a kept boot, its own last heartbeat before", stopped, []roster.State{{Other: true, Before: stopped.Unix()}}, false},
		{"a kept boot, one that is younger than its end", stopped, []roster.State{first}, true},
		{"a kept boot, one in the second of its end", stopped, []roster.State{{Before: stopped.Unix() + 1}}, false},
		{"a kept boot, its own heartbeats later", stopped, []roster.State{{}, first}, false},
		{"a kept boot, another's later", stopped, []roster.State{{}, later}, true},
		{"a new boot, another's later", time.Time{}, []roster.State{{}, later}, true},
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
				err = l.checkBoot(&s)
			}
			alarmed := m.alarmed("duplicate_boot/redis") != ""
			if alarmed != test.another || (drawn != "") != test.another {
				t.Errorf("%s: alarmed %v, drawn %q; want %v", test.name, alarmed, drawn, test.another)
			}
			changed := test.another && !once
			if errors.Is(err, errBoot) != changed || (l.config.Boot == drawn) != changed {
				t.Errorf("%s, changed before %v: %v, the boot is %s", test.name, once, err, l.config.Boot)
			}
		}
	}
}
