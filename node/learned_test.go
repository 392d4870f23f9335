package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/tuning"
)

const learnedRules = `
state: $DIR
node: edge-1
overlay: OVERLAY
listen: {admin: ["unix:$DIR/admin.sock"], auth: []}
rules:
  - {name: site, threshold: 2000}
  - {name: crowd, match: {path: /login}, key: {address: none, with: [path]}, count: {distinct: address}, guard: 1, threshold: learned, action: shadow}
`

// seen notes so many days that count most so much, the last of which was yesterday.
func (u *underTest) seen(days int, most uint32) {
	set := u.pipeline.Current().Config.Rules
	m := &set.Meters[set.Rules[1].Meter]
	for ago := days; ago > 0; ago-- {
		for n := range 150 {
			at := u.view().Now().Truncate(24 * time.Hour).Add(-time.Duration(ago)*24*time.Hour + time.Duration(n)*5*time.Minute)
			u.store.history.Kept.NoteDay(at, tuning.Meter{Fingerprint: m.Fingerprint, Window: m.Window}, most)
		}
	}
}

// logins has so many addresses ask for the page now, and returns how often a rule told it.
func (u *underTest) logins(addresses int) (told uint64) {
	now := u.clock.Now()
	for i := range addresses {
		event := requestOf(fmt.Sprintf("198.51.%d.%d", i/250, 1+i%250), now)
		event.Path, event.Known = "/login", edgeguard.FieldPath
		u.pipeline.Decide(now, &event)
	}
	for _, c := range u.crowdRule().Crossings {
		told += c.Count
	}
	return told
}

func (u *underTest) crowdRule() admin.Rule { return u.admin.status.Rules()[1] }

// A rule whose threshold is learned tells nothing until seven days were seen, has what they speak for then,
// also after a restart and without an overlay, and an operator's number goes before it.
func TestLearnedThreshold(t *testing.T) {
	for _, overlay := range []string{"true", "false"} {
		t.Run(overlay, func(t *testing.T) {
			folder := shortDir(t)
			u := newNode(t, folder, strings.Replace(learnedRules, "OVERLAY", overlay, 1)).start()
			u.seen(6, 30)
			u.lifecycle.overlay.Learn(u.clock.Now())
			if r := u.crowdRule(); r.Learned == nil || r.Learned.String() != "no limit yet: 6 of 7 days seen" || r.Limit != 400 {
				t.Errorf("%+v %v", r, r.Learned)
			}
			if told := u.logins(500); told != 0 {
				t.Errorf("%d crossings are told before a limit is there", told)
			}
			if _, page := u.get("/rules/crowd"); !strings.Contains(page, "The rule has no limit, and tells nothing.") || !strings.Contains(page, "of the site: no limit yet: 6 of 7 days seen.") {
				t.Error(page)
			}
			u.seen(7, 30)
			u.lifecycle.overlay.Learn(u.clock.Now())
			if r := u.crowdRule(); r.Threshold != 120 || r.Limit != 120 || r.Learned.String() != "an ordinary day counts 30" {
				t.Errorf("%+v %v", r, r.Learned)
			}
			if u.store.save() == 0 {
				t.Fatal(u.log)
			}
			u.stop()
			u = newNode(t, folder, u.yaml).start()
			u.lifecycle.overlay.Learn(u.clock.Now())
			if r := u.crowdRule(); r.Limit != 120 || r.Learned.Days != 7 {
				t.Errorf("after a restart %+v %v", r, r.Learned)
			}
			if told := u.logins(120); told != 0 {
				t.Errorf("%d crossings at the limit", told)
			}
			if told := u.logins(121); told != 1 {
				t.Errorf("%d crossings of one more than the limit, want 1", told)
			}
			u.eventually("it is a row among the attacks", func() bool { return len(u.attacks()) == 1 })
			if says := u.attacks()[0].Crowd.Says; says != "121 addresses at /login; on an ordinary day 30" {
				t.Error(says)
			}
			if overlay == "true" {
				u.operatorGoesBefore()
			}
		})
	}
}

// operatorGoesBefore sets a threshold by hand, and undoes it.
func (u *underTest) operatorGoesBefore() {
	u.t.Helper()
	set := func(threshold, was uint32) {
		if _, p := u.lifecycle.overlay.SetThreshold(context.Background(), "crowd", "kim", admin.ThresholdRequest{Threshold: threshold, IfThreshold: was}); p != nil {
			u.t.Fatal(p)
		}
		u.lifecycle.overlay.Learn(u.clock.Now())
	}
	if set(60, 120); u.crowdRule().Limit != 60 {
		u.t.Errorf("an operator's threshold: %+v", u.crowdRule())
	}
	if set(400, 60); u.crowdRule().Limit != 400 {
		u.t.Errorf("an operator's threshold that is the greatest: %+v", u.crowdRule())
	}
	if _, now, p := u.lifecycle.overlay.EndOverlay("crowd"); p != nil || now != 120 || u.crowdRule().Limit != 120 {
		u.t.Errorf("after it was undone: %d, %v, %+v", now, p, u.crowdRule())
	}
}

// A site on which too many are ordinary has no limit, and says so.
func TestLearnedThresholdBeyond(t *testing.T) {
	u := newNode(t, shortDir(t), strings.Replace(learnedRules, "OVERLAY", "true", 1)).start()
	u.seen(7, 190)
	u.lifecycle.overlay.Learn(u.clock.Now())
	if r := u.crowdRule(); !r.Learned.Pending || r.Learned.String() != "no limit: an ordinary day counts 190, too many to tell an attack from" {
		t.Errorf("%+v %v", r, r.Learned)
	}
	if told := u.logins(500); told != 0 {
		t.Errorf("%d crossings are told", told)
	}
	if facts := u.ruleFacts(); facts.Rules[1].Limit != 0 {
		t.Errorf("other nodes are told a limit that is this node's: %+v", facts.Rules[1])
	}
}

// What a meter counts on a day is noted as its windows end, also where more meters stand before it than a
// history is kept of.
func TestDaysAreNoted(t *testing.T) {
	yaml := "state: $DIR\nlisten: {auth: []}\nrules:\n"
	for i := range tuning.MaxMeters {
		yaml += fmt.Sprintf("  - {name: r%d, threshold: 9, match: {path: /%d}}\n", i, i)
	}
	yaml += learnedRules[strings.Index(learnedRules, "  - {name: crowd"):]
	u := newNode(t, t.TempDir(), yaml)
	end := u.clock.Now().Truncate(5 * time.Minute)
	for minute := -6; minute < 0; minute++ {
		for range 40 {
			u.admin.status.KeepHistory(end.Add(time.Duration(minute) * time.Minute))
		}
	}
	for i := range 30 {
		event := requestOf(fmt.Sprintf("203.0.113.%d", i), end.Add(-time.Second))
		event.Path, event.Known = "/login", edgeguard.FieldPath
		u.pipeline.Decide(end, &event)
	}
	for range 40 {
		u.admin.status.KeepHistory(end)
	}
	var most uint32
	for _, days := range u.store.history.Kept.AllDays() {
		most = max(most, days[len(days)-1].Most)
	}
	if most != 30 {
		t.Errorf("the greatest count of the day is %d, want 30", most)
	}
}

// A candidate of the config is the threshold that is learned: it is left out as long as it is.
func TestLearnedThresholdIsCandidate(t *testing.T) {
	yaml := strings.Replace(learnedRules, "threshold: learned", "threshold: learned, candidates: [120, 130]", 1)
	u := newNode(t, shortDir(t), strings.Replace(yaml, "OVERLAY", "true", 1)).start()
	u.seen(7, 30)
	u.lifecycle.overlay.Learn(u.clock.Now())
	if r := u.crowdRule(); r.Limit != 120 || r.Learned.Pending || len(r.Candidates) != 1 || r.Candidates[0].Threshold != 130 {
		t.Errorf("%+v", r)
	}
	before := u.pipeline.Current()
	if u.lifecycle.overlay.Learn(u.clock.Now()); u.pipeline.Current() != before {
		t.Error("nothing was learned since, and the rules are replaced")
	}
}
