package aggregator

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Skew is how far one node's clock is ahead of Redis', as that node measured
// it.
type Skew struct {
	Node  string
	Ahead time.Duration
}

// Judgement is whose clock is wrong.
type Judgement struct {
	// Redis says that most nodes agree with each other and not with Redis; By
	// is how far they are ahead of it (their median). Redis' clock is then not
	// followed.
	Redis bool
	By    time.Duration
	// Wrong are the nodes that are off by more than the allowed skew, ordered
	// by name. Ahead is relative to the majority if Redis is wrong, else to
	// Redis.
	Wrong []Skew
}

// JudgeClocks judges the clocks of a fleet. Redis is wrong if more than half of the
// nodes, and at least two, are within allowed of each other and all of them
// further than that from Redis; else it is right. A single node cannot outvote
// it.
func JudgeClocks(skews []Skew, allowed time.Duration) Judgement {
	var j Judgement
	if most := largestGroup(skews, allowed); len(most) >= 2 && 2*len(most) > len(skews) {
		if least, greatest := most[0].Ahead, most[len(most)-1].Ahead; least > allowed || greatest < -allowed {
			j.Redis, j.By = true, most[len(most)/2].Ahead
		}
	}
	for _, s := range skews {
		if s.Ahead -= j.By; s.Ahead > allowed || s.Ahead < -allowed {
			j.Wrong = append(j.Wrong, s)
		}
	}
	slices.SortFunc(j.Wrong, func(a, b Skew) int { return cmp.Compare(a.Node, b.Node) })
	return j
}

// Texts returns the texts of the alarms, by the node's name or "redis".
func (j *Judgement) Texts() map[string]string {
	texts := map[string]string{}
	if j.Redis {
		texts["redis"] = fmt.Sprintf("most nodes agree that Redis' clock is wrong: it is %s them, and is not followed: set the clock of its host", aheadOf(-j.By))
	}
	for _, s := range j.Wrong {
		texts[s.Node] = fmt.Sprintf("the clock of node %q is %s the fleet's: set it (chrony, systemd-timesyncd)", s.Node, aheadOf(s.Ahead))
	}
	return texts
}

func aheadOf(d time.Duration) string {
	if d < 0 {
		return (-d).Round(time.Millisecond).String() + " behind"
	}
	return d.Round(time.Millisecond).String() + " ahead of"
}

// largestGroup returns the most nodes that are within allowed of each other,
// ordered by skew; of several such groups the one with the lowest skews.
func largestGroup(skews []Skew, allowed time.Duration) []Skew {
	sorted := slices.SortedFunc(slices.Values(skews), func(a, b Skew) int { return cmp.Compare(a.Ahead, b.Ahead) })
	var best []Skew
	from := 0
	for to := range sorted {
		for sorted[to].Ahead-sorted[from].Ahead > allowed {
			from++
		}
		if to+1-from > len(best) {
			best = sorted[from : to+1]
		}
	}
	return best
}
