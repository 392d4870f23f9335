package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"edgeguard/aggregator"
)

// State is an answer of the library's beat function: the state of a namespace,
// and what it says of the nodes.
type State struct {
	Now     time.Time // Redis' clock
	Changes int64     // the version of the fleet's list
	Digest  string    // of the records that end after Cutoff; "" while ended ones are still to be removed
	Cutoff  int64     // unix second
	Tip     string    // newest ID of the stream of changes; "" if it is empty
	Born    string    // when the namespace was created; another time is another namespace

	News []News
	// Whole says that News lists all nodes, and More that it ends before
	// Redis' newest version of the nodes. Version is how far it goes.
	Whole, More bool
	Version     int64
	// Other says that another process sends heartbeats under the same field,
	// and Before when the one before this was received, in unix seconds; 0 if
	// there was none.
	Other  bool
	Before int64
	// Ask is another number after each time that a node asked for MACs that it
	// lacks.
	Ask int64
}

// Look is what Redis has of a fleet at one moment.
type Look struct {
	Now     time.Time // Redis' clock
	Changes int64     // the version of the fleet's list
	Alive   []aggregator.Heartbeat
	// Unsent says that changes of the node that looks were not yet published.
	Unsent bool
}

// WholeList returns what an answer with the whole list of nodes says of them. Of a node
// that was alive a moment ago the newest heartbeat may be [Fresh] no more: it is
// left out.
func (s *State) WholeList(verify Verify) Look {
	look := Look{Now: s.Now, Changes: s.Changes}
	for _, one := range s.News {
		if h, signed, ok := verify(one.Field, one.Value); ok && one.Alive && s.Now.Sub(h.At).Abs() < Fresh {
			h.Signed = signed
			look.Alive = append(look.Alive, h)
		}
	}
	return look
}

// parts is the length of an answer before the nodes; each takes three parts more.
const parts = 14

// ParseState parses an answer.
func ParseState(answer []any) (s State, err error) {
	if len(answer) < parts || (len(answer)-parts)%3 != 0 {
		return s, fmt.Errorf("an answer of %d parts", len(answer))
	}
	n, err := numbers(slices.Concat(answer[:3], answer[4:5], answer[7:parts]))
	if err != nil {
		return s, err
	}
	s.Now, s.Changes, s.Cutoff = time.Unix(n[0], n[1]*1000), n[2], n[3]
	s.Digest, s.Tip, s.Born = text(answer[3]), text(answer[5]), text(answer[6])
	s.Version, s.Other, s.Before, s.More, s.Whole, s.Ask = n[4], n[5] != 0, n[6], n[7] != 0, n[8] != 0, n[9]
	for rest := answer[parts:]; len(rest) >= 3; rest = rest[3:] {
		alive, _ := number(rest[1])
		s.News = append(s.News, News{Field: text(rest[0]), Value: text(rest[2]), Alive: alive == 1})
	}
	return s, nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func numbers(answer []any) (out []int64, err error) {
	for _, v := range answer {
		n, ok := number(v)
		if !ok {
			return nil, fmt.Errorf("%v is not a number", v)
		}
		out = append(out, n)
	}
	return out, nil
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
