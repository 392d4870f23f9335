package fleet

import (
	"slices"
	"time"

	"edgeguard/aggregator"
)

// grace is how long two runs of one node may overlap: a new one may start
// before the old one has ended.
const grace = 3 * time.Second

// Duplicates returns the names that two of these nodes share: each sent a
// heartbeat after the other had started. They must be of one whole list, since
// a heartbeat that was read earlier may be from before the other started.
func Duplicates(alive []aggregator.Heartbeat) []string {
	byName := map[string][]*aggregator.Heartbeat{}
	var names []string
	for i := range alive {
		a := &alive[i]
		for _, b := range byName[a.Node] {
			if a.Boot != b.Boot && a.At.After(b.Started.Add(grace)) && b.At.After(a.Started.Add(grace)) {
				names = append(names, a.Node)
			}
		}
		byName[a.Node] = append(byName[a.Node], a)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Names returns how many names these nodes have, the given one included.
func Names(alive []aggregator.Heartbeat, own string) int {
	names := map[string]bool{own: true}
	for i := range alive {
		names[alive[i].Node] = true
	}
	return len(names)
}
