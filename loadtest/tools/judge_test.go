package tools

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// naive judges as the words say it: for each request, all requests of the window are counted
// again.
func naive(r rule, all []answered) *Judged {
	j := &Judged{Requests: len(all)}
	clients := map[uint32][]answered{}
	for _, a := range all {
		clients[a.client] = append(clients[a.client], a)
		if a.status != passes && a.status != refuses {
			j.Failed++
		}
	}
	for _, of := range clients {
		crossing := -1
		for i := len(of) - 1; i >= 0; i-- {
			n := 0
			for k := range i + 1 {
				if of[k].sent > of[i].sent-r.window {
					n++
				}
			}
			if n > int(r.limit) {
				crossing = i
			}
		}
		refused, early, blocked := 0, false, time.Duration(0)
		for i, a := range of {
			if a.status == refuses {
				refused++
				early = early || crossing >= 0 && i < crossing
				if blocked == 0 && crossing >= 0 && i >= crossing {
					blocked = a.ended - of[crossing].sent
				}
			}
			if a.status == passes && crossing >= 0 && i >= crossing {
				j.Passed++
			}
		}
		switch {
		case crossing < 0:
			j.Visitors++
			if refused > 0 {
				j.Hit++
				j.HitRequests += refused
			}
			continue
		case early:
			j.Early++
		case blocked > 0:
			j.Blocks = append(j.Blocks, blocked.Seconds())
		}
		j.Over++
		if refused > 0 {
			j.Caught++
		}
	}
	return j
}

func TestJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		r := rule{1 + rng.Uint32N(4), time.Minute}
		var all []answered
		at := time.Duration(0)
		for range rng.IntN(40) {
			at += 1 + time.Duration(rng.Int64N(int64(20*time.Second)))
			status := []int{passes, passes, passes, refuses, 0}[rng.IntN(5)]
			all = append(all, answered{rng.Uint32N(3), at, at + 1 + time.Duration(rng.Int64N(int64(time.Second))), status})
		}
		want := naive(r, all)
		rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		got := judge(r, all)
		want.Block = spread(want.Blocks)
		sorted := cmp.Transformer("sorted", func(v []float64) map[float64]int {
			n := map[float64]int{}
			for _, one := range v {
				n[one]++
			}
			return n
		})
		if diff := cmp.Diff(want, got, sorted); diff != "" {
			t.Fatal(diff)
		}
	}
}
