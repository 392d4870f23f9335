package traffic

import (
	"slices"
	"testing"
	"time"
)

// Of the shop's clients the attackers send more than the limit in a window, and nobody
// else does.
func TestShopsAttackersAreOver(t *testing.T) {
	for _, length := range []time.Duration{20 * time.Second, 4 * time.Minute} {
		s := Shop(length)
		clients := map[uint32][]time.Duration{}
		for r := range s.Requests(7) {
			clients[r.Client] = append(clients[r.Client], r.At)
		}
		if len(clients) != shopAttackers+2+shopVisitors {
			t.Errorf("%v: %d clients", length, len(clients))
		}
		for client, times := range clients {
			most := 0
			for i, from := range times {
				end, _ := slices.BinarySearch(times, from+s.Window)
				most = max(most, end-i)
			}
			if over := most > int(s.Limit); over != (client < s.Attackers) {
				t.Errorf("%v: client %d sends %d in a window", length, client, most)
			}
		}
	}
}
