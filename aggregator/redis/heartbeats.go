package redis

import (
	"edgeguard/aggregator"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// standing is the beat function's answer: how the namespace stands.
type fleetState struct {
	now     time.Time // Redis'
	changes int64     // the list's version
	digest  string    // of the records that end after cutoff; "" while others wait to be removed
	cutoff  int64     // unix second
	tip     string    // newest id of the stream; "" if it is empty
	born    string    // when the namespace was; another birth is another namespace
	nodes   []aggregator.Heartbeat
}

func parseFleetState(answer []any) (fleetState, error) {
	var s fleetState
	if len(answer) < 7 || len(answer)%2 != 1 {
		return s, fmt.Errorf("beat: an answer of %d parts", len(answer))
	}
	var numbers [4]int64
	for i, at := range []int{0, 1, 2, 4} {
		n, ok := number(answer[at])
		if !ok {
			return s, fmt.Errorf("beat: %v in the place of a number", answer[at])
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

// fresh is how old a beat may be whose node is taken to be alive.
const fresh = 10 * time.Second

// alive gives the newest beat of each run that was heard from lately.
func (s *fleetState) alive() []aggregator.Heartbeat {
	var out []aggregator.Heartbeat
	for _, b := range s.nodes {
		if age := s.now.Sub(b.At); age < fresh && age > -fresh {
			out = append(out, b)
		}
	}
	return out
}

// names are the nodes' names by the ids under which they count, the dead ones
// included.
func (s *fleetState) names() map[[8]byte]string {
	names := make(map[[8]byte]string, len(s.nodes))
	for i := range s.nodes {
		b := &s.nodes[i]
		names[b.ID()] = b.Node
	}
	return names
}

// twins gives the names that two living nodes share: both were heard after the
// other had started.
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

// twinGrace is how long two runs of one node may overlap, as they do where a
// new one starts before the old has ended.
const duplicateGrace = 3 * time.Second

// roster is the names of the nodes by their ids. Safe for concurrent use.
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
