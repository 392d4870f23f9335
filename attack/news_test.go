package attack

import (
	"testing"
	"time"
)

// A group that other nodes' blocks began, of which only they told, is told once more when this node blocks a network of
// it: so a node that blocks ten junk networks by a rule first does not have the attacks on the others go untold. A
// group that this node was in from its beginning is told once, and so is a network; a restart tells nothing again.
func TestJoinedGroupIsNews(t *testing.T) {
	mine := func(rule string, n int, at time.Time) *Crossing {
		c := blocked(rule, n, at)
		c.Here = true
		return c
	}
	news := func(b *Book, now time.Time) (n int, joined bool) {
		all := b.News(now, now.Add(-Fresh))
		for _, row := range all {
			joined = joined || row.Joined
		}
		return len(all), joined
	}
	for _, first := range []func(string, int, time.Time) *Crossing{blocked, mine} {
		var b, again Book
		junk := first("site", 0, epoch)
		own := junk.Here
		b.Add(junk)
		for i := 1; i < groupOf; i++ {
			b.Add(blocked("site", i, epoch))
		}
		if n, joined := news(&b, epoch); n != 1 || joined {
			t.Errorf("the first ten: %d, %v", n, joined)
		}
		later := epoch.Add(time.Minute)
		b.Add(blocked("site", 50, later)) // of another node
		if n, _ := news(&b, later); n != 0 {
			t.Error("another of the others is news")
		}
		b.Add(mine("site", 51, later))
		if n, joined := news(&b, later); (n == 1) == own || joined == own {
			t.Errorf("one of this node's, beside one of its own %v: %d, %v", own, n, joined)
		}
		b.Add(mine("site", 52, later))
		if n, _ := news(&b, later); n != 0 {
			t.Error("each of this node's is news")
		}
		for i := range groupOf {
			again.Add(blocked("site", i, epoch))
		}
		told := mine("site", 51, later)
		told.Told = true
		again.Add(told)
		again.Add(mine("site", 53, later))
		if n, _ := news(&again, later); n != 0 {
			t.Error("it is told again after a restart")
		}
	}
	var one Book
	one.Add(blocked("site", 1, epoch))
	news(&one, epoch)
	one.Add(mine("login", 1, epoch))
	if n, _ := news(&one, epoch); n != 0 {
		t.Error("a network of which another node told is news")
	}
}
