package redistwin

import (
	"strconv"
	"strings"
	"time"

	"edgeguard/aggregator"
)

const (
	claimed = "claimed"
	// maxSkew is by how many milliseconds a node's time may differ from the
	// fleet's; beyond it, its pushes are refused.
	maxSkew = 5000
	// mostAhead is the same of a mark, in seconds.
	mostAhead = maxSkew / 1000
	// maxCount is the maximum of a slot of the fleet's ring.
	maxCount = 65535
	// maxKeys bounds a call.
	maxKeys = 200
	// ttlSlots is how many slots a key outlives the last move of its head;
	// ttlClaimed replaces it for a replay, whose time is not the server's.
	ttlSlots   = 70
	ttlClaimed = 600 * time.Second
)

// push merges what one node reports of many keys.
func (r *Redis) push(now time.Time, keys, args []string) (any, error) {
	if len(keys) < 2 || len(keys) > 1+maxKeys || len(args) != len(keys) {
		return nil, Error("EDGEGUARD arguments")
	}
	h, err := parseHeader([]byte(args[0]))
	if err != nil {
		return nil, Error("EDGEGUARD header")
	}
	pushes := make([]aggregator.Push, len(args)-1)
	for i := range pushes {
		if pushes[i], err = parseBody([]byte(args[1+i])); err != nil {
			return nil, Error("EDGEGUARD body " + strconv.Itoa(i+1))
		}
	}
	t := now.UnixMilli()
	ttl := ttlSlots * time.Duration(h.Width) * time.Second
	isClaimed := r.clocks[keys[0]]
	if isClaimed {
		t, ttl = h.Now, ttlClaimed
	}
	if d := h.Now - t; d > maxSkew || d < -maxSkew {
		return nil, Error("EDGEGUARD clock " + strconv.FormatInt(t, 10))
	}
	var out strings.Builder
	for i := range pushes {
		s, newest := r.suspect(keys[1+i], now), uint32(t/1000/int64(h.Width))+1
		if !isClaimed && s.fleet.head > newest+kept && !pushes[i].IsReconcile() {
			s = newSuspect()
		}
		a, moved := s.merge(string(h.Node[:]), &pushes[i], newest)
		if moved {
			s.expires = now.Add(ttl)
		}
		out.Write(a.Append(nil))
		r.keep(keys[1+i], s)
	}
	return out.String(), nil
}

// split returns what each node counted in the window that ends at a slot,
// without nodes that counted nothing. With "slots" it is the slots, oldest first, in two
// bytes each: Redis' functions send one where their ring has one.
func (r *Redis) split(now time.Time, keys, args []string) (any, error) {
	if len(keys) != 1 || len(args) < 1 || len(args) > 2 || len(args) == 2 && args[1] != "slots" {
		return nil, Error("EDGEGUARD arguments")
	}
	end, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return nil, Error("EDGEGUARD arguments")
	}
	s := r.suspect(keys[0], now)
	out := []any{}
	for _, id := range sorted(s.nodes) {
		switch n := s.nodes[id].total(int64(end)); {
		case n == 0:
		case len(args) == 2:
			out = append(out, id, s.nodes[id].slots(int64(end)))
		default:
			out = append(out, id, int64(n))
		}
	}
	return out, nil
}

// forget empties keys and sets from which slot on they count. A key that has
// this mark already stays as it is: every node that learns of an unblock calls
// this, and what was counted since the first call is kept. Of a mark in the future
// the server's time is set. With a third argument only keys that have exactly that mark
// are emptied, and the new one may be lower. It answers with how many keys it
// emptied.
func (r *Redis) forget(now time.Time, keys, args []string) (any, error) {
	if len(keys) == 0 || len(args) < 2 || len(args) > 3 {
		return nil, Error("EDGEGUARD arguments")
	}
	bad, err3 := strconv.ParseUint(args[len(args)-1], 10, 32)
	floor, err1 := strconv.ParseUint(args[0], 10, 32)
	width, err2 := strconv.ParseUint(args[1], 10, 32)
	if err1 != nil || err2 != nil || err3 != nil || width == 0 {
		return nil, Error("EDGEGUARD arguments")
	}
	emptied := int64(0)
	floor = min(floor, uint64(now.Unix()+mostAhead)/width+2)
	for _, k := range keys {
		s := r.suspect(k, now)
		if int64(s.fleet.head) > now.Unix()/int64(width)+kept+1 {
			s = newSuspect()
		}
		if len(args) == 3 && s.floor != uint32(bad) || len(args) == 2 && s.floor >= uint32(floor) {
			continue
		}
		emptied++
		s.floor = uint32(floor)
		s.fleet.counts = [kept]uint32{}
		clear(s.nodes)
		s.expires = now.Add(ttlSlots * time.Duration(width) * time.Second)
		r.suspects[k] = s
	}
	return emptied, nil
}

// suspect returns a key's data, or empty data that is not stored yet.
func (r *Redis) suspect(key string, now time.Time) *suspect {
	if s := r.suspects[key]; s != nil && now.Before(s.expires) {
		return s
	}
	delete(r.suspects, key)
	return newSuspect()
}

// keep stores a key unless a push left nothing in it.
func (r *Redis) keep(key string, s *suspect) {
	if !s.expires.IsZero() {
		r.suspects[key] = s
	}
}
