package doctor

import (
	"testing"
	"time"

	"edgeguard/admin"
)

// What a running node says of its parts is what doctor says: what does not work is wrong, what is
// to be looked at a doubt, and what is not known none.
func TestHealthOfANode(t *testing.T) {
	s := admin.Stats{Ready: true, Logs: []admin.Log{{Name: "/a"}}, Sources: []admin.Source{{Asked: true, Events: 1}}}
	s.Judge([]admin.Alarm{
		admin.NewAlarm("state", admin.PartState, "disk full", time.Time{}, true, false), admin.NewAlarm("fleet_held", admin.PartFleet, "2 wait", time.Time{}, false, true),
		admin.NewAlarm("state", admin.PartState, "locked", time.Time{}, true, false),
	})
	var x examination
	x.health(&s)
	got := map[finding]bool{}
	for _, f := range x.findings {
		got[f] = true
	}
	for _, want := range []finding{{wrong, "node's state", "disk full"}, {wrong, "node's state", "locked"}, {doubt, "node's fleet", "2 wait"},
		{fine, "node's logs", "1 log; nothing counted yet of /a"}, {fine, "node's listeners", "1 listener, asked 1 time"}} {
		if !got[want] {
			t.Errorf("%v is not said: %v", want, x.findings)
		}
	}
}
