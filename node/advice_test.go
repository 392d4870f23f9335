package node

import (
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/tuning"
)

const advisedRules = `
state: $DIR
node: edge-1
mode: MODE
listen: {admin: ["unix:$DIR/admin.sock"], auth: []}
rules:
  - {name: site, threshold: 2000, guard: 1}
  - {name: told, threshold: 2000, guard: 1, action: shadow, match: {path: [/a]}}
  - {name: between, threshold: 300, guard: 1, match: {path: [/b]}}
  - {name: c, threshold: 2000, guard: 1, match: {path: [/c]}}
  - {name: d, threshold: 2000, guard: 1, match: {path: [/d]}}
  - {name: e, threshold: 2000, guard: 1, match: {path: [/e]}}
`

// advised returns what is told of thresholds.
func (u *underTest) advised() (all []admin.Need) {
	for _, n := range u.view().Stats().Needs {
		if n.Kind == admin.NeedThreshold {
			all = append(all, n)
		}
	}
	return all
}

// advise lets an hour pass in which each rule is looked at.
func (u *underTest) advise(at time.Time) {
	for range 3 * len(u.pipeline.Current().Config.Rules.Rules) { // the node itself looks, too, and begins again
		u.admin.status.KeepAdvice(at)
	}
}

// Three thresholds at most are told for which a day speaks, of rules that refuse, each with its page. It stays for a day after
// the last time, and is gone at once when somebody acts.
func TestAdvice(t *testing.T) {
	for _, mode := range []string{"enforce", "monitor"} {
		t.Run(mode, func(t *testing.T) {
			u := newNode(t, shortDir(t), strings.Replace(advisedRules, "MODE", mode, 1)).start()
			now := u.clock.Now().Add(time.Hour) // beyond the hour in which the node itself looks
			var d tuning.Distribution
			for n := range uint32(200) {
				d.Add(1 + n%20)
			}
			d.Add(400)
			set := u.pipeline.Current().Config.Rules
			for i := range set.Meters {
				for minutes := 23*60 + 30; minutes > 0; minutes -= 30 {
					if err := u.store.history.Kept.Restore(now, tuning.Meter{Fingerprint: set.Meters[i].Fingerprint, Window: set.Meters[i].Window}, now.Add(-time.Duration(minutes)*time.Minute), d.Sparse()); err != nil {
						t.Fatal(err)
					}
				}
			}
			u.advise(now)
			told := u.advised()
			if len(told) != 3 || told[0].Rule != "c" || told[1].Rule != "d" || told[2].Rule != "e" || told[0].Threshold <= 20 || told[0].Threshold >= 400 {
				t.Fatalf("%+v", told)
			}
			u.request("203.0.113.1") // else the page says how to begin
			if _, page := u.get("/"); !strings.Contains(page, "A few count far above the rest, and under the limit of c: the last day speaks for a threshold of 80, where it is 2,000.") || !strings.Contains(page, `href="/rules/c?threshold=80"`) || !strings.Contains(page, "three things need you") {
				t.Error(page)
			}
			u.store.history.Kept.NextDue(now, nil) // the day is forgotten: nothing speaks for it any more
			u.advise(now.Add(23 * time.Hour))
			if len(u.advised()) != 3 {
				t.Error("it came and went within a day")
			}
			if _, problem := u.view().SetThreshold(t.Context(), "c", "ops-1", admin.ThresholdRequest{Threshold: 1000, IfThreshold: 2000, Note: "tried", Force: true}); problem != nil {
				t.Fatal(problem)
			}
			if told := u.advised(); len(told) != 3 || told[0].Rule != "d" {
				t.Errorf("after somebody acted: %+v", told)
			}
			u.advise(now.Add(25 * time.Hour))
			if told := u.advised(); told != nil {
				t.Errorf("a day later: %+v", told)
			}
		})
	}
}
