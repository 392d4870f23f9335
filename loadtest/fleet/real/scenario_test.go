package real

import (
	"testing"
	"time"

	"edgeguard/loadtest/traffic"
)

// The crossing of a client is the first request at which a plain log of all its
// requests, cut off where the window's first slot begins, has more than the limit.
func TestCrossings(t *testing.T) {
	s := Mixed(8, 70, 300)
	const seed = 3
	got := crossings(s, seed)
	logs, want := map[uint32][]time.Duration{}, map[uint32]time.Duration{}
	slot := s.Window / 60
	for r := range s.Requests(seed) {
		log := append(logs[r.Client], r.At)
		for log[0]/slot <= r.At/slot-60 {
			log = log[1:]
		}
		logs[r.Client] = log
		if _, done := want[r.Client]; !done && len(log) > 285 {
			want[r.Client] = r.At
		}
	}
	if len(got) != len(want) || len(want) != int(s.Attackers) {
		t.Errorf("%d cross, want %d of %d attackers", len(got), len(want), s.Attackers)
	}
	for client, at := range want {
		if got[client] != at || client >= s.Attackers {
			t.Errorf("client %d crosses at %v, want %v", client, got[client], at)
		}
	}
}

// Nobody but the attackers is near the limit, so that who is blocked is no matter of
// when a node pushes; and the same seed gives the same.
func TestMixed(t *testing.T) {
	s := Mixed(8, 70, 300)
	var first []traffic.Request
	counts := map[uint32]int{}
	for r := range s.Requests(5) {
		first = append(first, r)
		counts[r.Client]++
		if n := len(first); int(r.Node) >= s.Nodes || n > 1 && r.At < first[n-2].At {
			t.Fatalf("request %d is %+v", n, r)
		}
	}
	for client, n := range counts {
		if client >= s.Attackers && n > 270 {
			t.Errorf("client %d sends %d", client, n)
		}
	}
	i := 0
	for r := range s.Requests(5) {
		if r != first[i] {
			t.Fatalf("request %d is %+v, and was %+v", i, r, first[i])
		}
		i++
	}
}
