package redis

import (
	"edgeguard/aggregator"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// fleetState is the beat function's answer.
type fleetState struct {
	now     time.Time // Redis' clock
	changes int64     // the list's version
	digest  string    // of the records that end after cutoff; "" while ended ones are still to be removed
	cutoff  int64     // unix second
	tip     string    // newest ID of the stream of changes; "" if it is empty
	born    string    // when the namespace was created; another time is another namespace
	nodes   []aggregator.Heartbeat
}

func parseFleetState(answer []any) (fleetState, error) {
	var s fleetState
	if len(answer) < 7 || len(answer)%2 != 1 {
		return s, fmt.Errorf("an answer of %d parts", len(answer))
	}
	var numbers [4]int64
	for i, at := range []int{0, 1, 2, 4} {
		n, ok := number(answer[at])
		if !ok {
			return s, fmt.Errorf("%v is not a number", answer[at])
		}
		numbers[i] = n
	}
	s.now = time.Unix(numbers[0], numbers[1]*1000)
	s.changes, s.cutoff = numbers[2], numbers[3]
	s.digest, _ = answer[3].(string)
	s.tip, _ = answer[5].(string)
	s.born, _ = answer[6].(string)
	for rest := answer[7:]; len(rest) >= 2; rest = rest[2:] {
		field, _ := rest[0].(string)
		value, _ := rest[1].(string)
		if b, ok := aggregator.ParseHeartbeat(field, value); ok {
			s.nodes = append(s.nodes, b)
		}
	}
	return s, nil
}

func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// fresh is how old a live node's heartbeat may be.
const fresh = 10 * time.Second

// alive returns the heartbeats of the runs that are alive.
func (s *fleetState) alive() []aggregator.Heartbeat {
	var out []aggregator.Heartbeat
	for _, b := range s.nodes {
		if age := s.now.Sub(b.At); age < fresh && age > -fresh {
			out = append(out, b)
		}
	}
	return out
}

// names returns the nodes' names by the IDs under which they count, dead ones
// included.
func (s *fleetState) names() map[[8]byte]string {
	names := make(map[[8]byte]string, len(s.nodes))
	for i := range s.nodes {
		b := &s.nodes[i]
		names[b.ID()] = b.Node
	}
	return names
}

// duplicateNames returns the names that two live nodes share: each sent a
// heartbeat after the other had started.
func (s *fleetState) duplicateNames() []string {
	var names []string
	alive := s.alive()
	for i, a := range alive {
		for _, b := range alive[:i] {
			if a.Node == b.Node && a.Boot != b.Boot && a.At.After(b.Started.Add(duplicateGrace)) && b.At.After(a.Started.Add(duplicateGrace)) {
				names = append(names, a.Node)
			}
		}
	}
	return names
}

// duplicateGrace is how long two runs of one node may overlap: a new one may
// start before the old one has ended.
const duplicateGrace = 3 * time.Second

// roster has the names of the nodes by their IDs. It is safe for concurrent
// use.
type roster struct {
	names atomic.Pointer[map[[8]byte]string]
}

func (r *roster) set(names map[[8]byte]string) { r.names.Store(&names) }

func (r *roster) knows(id [8]byte) bool {
	names := r.names.Load()
	return names != nil && (*names)[id] != ""
}

func (r *roster) name(id [8]byte) string {
	if r.knows(id) {
		return (*r.names.Load())[id]
	}
	return fmt.Sprintf("unknown node (%x)", id[:3])
}
