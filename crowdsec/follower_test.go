package crowdsec

import (
	"testing"
	"time"
)

// answers makes answers of a LAPI for a follower.
type answers struct {
	t   *testing.T
	f   *Follower
	now time.Time
}

// judge gives the next answer, whole if it was to be: n entries, or gone ones.
func (a *answers) judge(held, added, gone int, want Judgement) {
	a.t.Helper()
	filter := &Filter{Most: 1000}
	answer := filter.Answer(a.now, a.f.Whole(a.now))
	for range added {
		answer.Added(ban("192.0.2.1"))
	}
	for range gone {
		answer.Deleted(ban("192.0.2.2"))
	}
	got, text := a.f.Judge(answer, held)
	if got != want || (text != "") != (want == AddOnly) {
		a.t.Errorf("%d held, %d added, %d gone, whole %t: %d %q, want %d", held, added, gone, answer.Whole, got, text, want)
	}
	a.now = a.now.Add(10 * time.Second)
}

func TestFollower(t *testing.T) {
	a := &answers{t, NewFollower(), noon}
	a.judge(0, 200, 0, Replace) // the first is whole
	a.judge(200, 5, 99, Apply)  // what the community forgets in a day
	a.judge(106, 0, 54, AddOnly)
	a.judge(106, 20, 0, Replace) // all of it, asked again, says the same
	a.judge(20, 0, 20, Apply)    // a few may all go
	a.judge(0, 300, 0, Apply)
	a.f.Missed() // the LAPI was away
	a.judge(300, 10, 0, AddOnly)
	a.judge(310, 310, 0, Replace) // its database works again
	a.judge(310, 155, 0, Apply)
	a.judge(310, 0, 1200, AddOnly) // more than are kept
	a.f.Missed()
	a.judge(310, 0, 0, Replace) // the operator has deleted all
	a.now = a.now.Add(time.Hour)
	if a.judge(310, 310, 0, Replace); a.f.Whole(a.now) {
		t.Error("the whole list was just read")
	}
}

// Deletions of which some were not kept are followed by the whole list.
func TestTooManyDeletions(t *testing.T) {
	a := &answers{t, NewFollower(), noon}
	a.judge(50, 50, 0, Replace)
	a.judge(50, 0, 1200, Apply)
	if !a.f.Whole(a.now) {
		t.Error("some of them were not lifted")
	}
}
