package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/crowdsec"
	"edgeguard/haproxy"
	"edgeguard/notify"
)

var healthNow = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func rowOf(s *Stats, part string) HealthRow {
	for _, r := range s.Health {
		if r.Part == part {
			return r
		}
	}
	return HealthRow{}
}

// A part has its figure, and one that a node does not have has no row.
func TestHealthFigures(t *testing.T) {
	ago := func(d time.Duration) time.Time { return healthNow.Add(-d) }
	for name, c := range map[string]struct {
		stats Stats
		part  string
		want  string // state and text
	}{
		"starting":      {Stats{}, PartMode, "unknown Starting: not everything is read or listens yet"},
		"monitor":       {Stats{Ready: true, Monitor: true, V4: 3}, PartMode, "unknown Monitor mode: nothing is refused; 3 addresses and networks would be"},
		"no way":        {Stats{Ready: true}, PartMode, "unknown Blocking; no way is known that refuses"},
		"enforcing":     {Stats{Ready: true, Enforcers: []Enforcer{{Name: "/geo"}}}, PartMode, "well Enforcing"},
		"in step":       {Stats{Ready: true, Enforcers: []Enforcer{{Name: "/geo"}}, Fleet: &Fleet{Up: true, Alive: 3}}, PartMode, "well Enforcing on 3 nodes, in step"},
		"not in step":   {Stats{Ready: true, Enforcers: []Enforcer{{Name: "/geo"}}, Fleet: &Fleet{Up: true, Alive: 3, Monitors: []string{"n3"}, OtherRules: []string{"n2"}}}, PartMode, "unknown Enforcing on 2 of 3 nodes; n3 is in monitor; n2 has other rules"},
		"all watch":     {Stats{Ready: true, Monitor: true, Fleet: &Fleet{Up: true, Alive: 2, Monitors: []string{"n1", "n2"}}}, PartMode, "unknown Monitor mode: nothing is refused; 0 addresses and networks would be"},
		"some watch":    {Stats{Ready: true, Monitor: true, Fleet: &Fleet{Up: true, Alive: 9, Monitors: []string{"n1", "n2", "n3", "n4", "n5"}}}, PartMode, "unknown Monitor mode: nothing is refused; 0 addresses and networks would be; enforcing on 4 of 9 nodes; n1, n2, n3 and 2 more are in monitor"},
		"cut off there": {Stats{Ready: true, Enforcers: []Enforcer{{Name: "/geo"}}, Fleet: &Fleet{Alive: 3, Monitors: []string{"n3"}}}, PartMode, "well Enforcing"},
		"no log":        {Stats{}, PartLogs, " "},
		"read":          {Stats{Logs: []Log{{Last: ago(time.Hour), Age: 3}}}, PartLogs, "well 1 log, read to 0 s ago"},
		"behind":        {Stats{Logs: []Log{{Last: ago(time.Second), Age: 60, Behind: 1 << 20}, {Last: ago(0)}}}, PartLogs, "well 2 logs, read to 1 min 1 s ago"},
		"empty":         {Stats{Logs: []Log{{Name: "/a", Behind: 5}, {Name: "/b"}, {Name: "/c"}}}, PartLogs, "unknown 3 logs; nothing counted yet of /a and 2 more"},
		"one empty":     {Stats{Logs: []Log{{Name: "/a"}, {Last: ago(0)}}}, PartLogs, "unknown 2 logs, read to 0 s ago; nothing counted yet of /a"},
		"unasked":       {Stats{Sources: []Source{{Asked: true}, {Name: "log"}}}, PartListeners, "unknown 1 listener, and no proxy has asked yet: `edgeguard snippets` prints what one needs"},
		"listed":        {Stats{Sources: []Source{{Asked: true}}, Enforcers: []Enforcer{{Name: "/geo"}}}, PartListeners, "well 1 listener, and no proxy has asked yet"},
		"asked":         {Stats{Sources: []Source{{Asked: true, Events: 1}}}, PartListeners, "well 1 listener, asked 1 time"},
		"haproxy":       {Stats{HAProxies: []haproxy.ListenerFigures{{HAProxies: make([]haproxy.LinkFigures, 2)}}}, PartListeners, "well 2 HAProxies connected"},
		"alone":         {Stats{}, PartFleet, " "},
		"joining":       {Stats{Fleet: &Fleet{Trouble: "joining"}}, PartFleet, "unknown Joining the fleet"},
		"cut off":       {Stats{Fleet: &Fleet{Trouble: "unreachable", Since: ago(time.Minute)}}, PartFleet, "unknown Cut off from the fleet for 1 min"},
		"joined":        {Stats{Fleet: &Fleet{Up: true, Alive: 3, PushLag: 0.31}}, PartFleet, "well Redis 0.3 s, 3 nodes"},
		"clock":         {Stats{Fleet: &Fleet{Up: true, Ahead: -0.0123}}, PartClock, "well Clock -0.012 s beside Redis"},
		"list":          {Stats{Enforcers: []Enforcer{{Name: "/etc/nginx/geo.conf", Success: ago(4 * time.Second)}}}, PartLists, "unknown geo.conf, written 4 s ago; nobody is known to read it"},
		"list read":     {Stats{Enforcers: []Enforcer{{Name: "/geo.conf", Success: ago(4 * time.Second)}}, Logs: []Log{{TurnedAway: 1}}}, PartLists, "well geo.conf, written 4 s ago"},
		"kernel":        {Stats{Enforcers: []Enforcer{{Name: "nftables edgeguard", Success: ago(0)}}}, PartLists, "well nftables edgeguard, written 0 s ago"},
		"not written":   {Stats{Enforcers: []Enforcer{{Name: "/a"}, {Name: "/b"}}}, PartLists, "unknown 2 lists, not written yet"},
		"requests":      {Stats{Events: Totals{Decided: 1234}, Uncounted: []Uncounted{{Count: 2}, {Count: 3}}}, PartRequests, "well 1,234 requests decided, 5 not counted"},
		"site":          {Stats{Site: &Site{Parts: []SiteFigures{{Fails: true}}}}, PartSite, "well The site fails"},
		"memory":        {Stats{Tables: Tables{Limit: 100, Used: 5}}, PartMemory, "well Memory 5.0 %"},
		"state":         {Stats{Snapshot: &Snapshot{Success: ago(time.Minute)}}, PartState, "well Saved 1 min ago"},
		"no state":      {Stats{}, PartState, "unknown Nothing is saved: no state folder"},
		"config":        {Stats{Reload: &Reload{Success: ago(time.Hour)}}, PartConfig, "well Config read 1 h ago"},
		"imports":       {Stats{Imports: Imports{Blocks: 9, Feeds: make([]ImportFeed, 2)}}, PartImports, "well 2 lists of others, 9 entries in force"},
		"bouncers":      {Stats{Bouncers: &BouncerFigures{Bouncers: []BouncerFigure{{LastPull: ago(time.Second)}, {}}}}, PartBouncers, "well 2 bouncers, the last asked 1 s ago"},
		"no pull":       {Stats{Bouncers: &BouncerFigures{}}, PartBouncers, "unknown 0 bouncers, none has asked"},
		"crowdsec":      {Stats{CrowdSec: &crowdsec.Figures{Alerts: &crowdsec.Outgoing{Last: ago(time.Second)}}}, PartCrowdSec, "well CrowdSec answered 1 s ago"},
		"notifications": {Stats{Notified: []notify.Figures{{}}}, PartNotify, "well 1 receiver, told nothing yet"},
	} {
		c.stats.Time = healthNow
		c.stats.Judge(nil)
		if r := rowOf(&c.stats, c.part); r.State+" "+r.Text != c.want {
			t.Errorf("%s: %q, want %q", name, r.State+" "+r.Text, c.want)
		}
	}
}

// Alarms make a part bad or doubtful, the worst first; each of hundreds is kept, and a part
// without a figure has a row while it has an alarm.
func TestHealthOfAlarms(t *testing.T) {
	s := Stats{Time: healthNow, Ready: true, Logs: []Log{{Last: healthNow}}}
	var alarms []Alarm
	for i := range 200 {
		alarms = append(alarms, NewAlarm("sensor_loss", PartLogs, fmt.Sprintf("log %03d \x1b[31m<b>: lost", i), healthNow.Add(-time.Minute), false, false))
	}
	alarms = append(alarms,
		NewAlarm("log", PartLogs, "late", healthNow.Add(-time.Second), true, false), NewAlarm("log", PartLogs, "early", healthNow.Add(-time.Hour), true, false),
		NewAlarm("of_a_later_version", PartHost, "what is that", healthNow, false, false))
	s.Judge(alarms)
	if parts := s.Health[:2]; parts[0].Part != PartLogs || parts[0].State != HealthBad || parts[1].Part != PartHost || parts[1].State != HealthWarn || parts[1].Text != "The host" {
		t.Errorf("%+v", parts)
	}
	logs := rowOf(&s, PartLogs)
	if len(logs.Alarms) != 202 || logs.Alarms[0].Text != "early" || !logs.Since.Equal(healthNow.Add(-time.Hour)) || logs.Text != "1 log, read to 0 s ago" || logs.Alarms[1].Text != "late" {
		t.Errorf("%d, the first %+v, of %+v", len(logs.Alarms), logs.Alarms[0], logs)
	}
	if len(s.Alarms()) != len(alarms) || !strings.HasPrefix(logs.Alarms[2].Text, "log 000") {
		t.Errorf("%d of %d", len(s.Alarms()), len(alarms))
	}
	states := []string{}
	for _, r := range s.Health {
		states = append(states, r.State)
	}
	if !slices.IsSortedFunc(states, func(a, b string) int { return badness(a) - badness(b) }) {
		t.Errorf("not the worst first: %q", states)
	}
	s.Judge(nil)
	if r := rowOf(&s, PartLogs); r.State != HealthWell || len(s.Alarms()) != 0 {
		t.Errorf("it is over, and %+v", r)
	}
}
