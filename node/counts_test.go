package node

import "testing"

// What the admin API says of a threshold is of the requests that the node counted.
func TestOutcomeOfRequests(t *testing.T) {
	u := newNode(t, shortDir(t), small).start()
	for addr, n := range map[string]int{"203.0.113.5": 5, "203.0.113.3": 3, "203.0.113.1": 1} {
		for range n {
			u.request(addr)
		}
	}
	counts, ok := u.view().Counts(u.view().Now(), "small", 10)
	if !ok {
		t.Fatal("no such rule")
	}
	o := counts.Tally.Outcome(2, counts.LimitOf)
	if counts.Tally.Peaks.Total() != 3 || counts.Tally.Peaks.Sum() != 9 || o.Limit != 2 || o.Keys != 2 || o.Events != 3+1 || !o.Exact {
		t.Errorf("%d keys with %d requests, %+v", counts.Tally.Peaks.Total(), counts.Tally.Peaks.Sum(), o)
	}
	if top := counts.Tally.Top.Sorted(); len(top) != 3 || top[0].Key.Prefix.String() != "203.0.113.5/32" || top[0].Peak != 5 {
		t.Errorf("the highest are %v", top)
	}
}
