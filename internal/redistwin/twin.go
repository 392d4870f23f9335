// Package redistwin is the reference of the Redis function library, in plain
// Go: the same functions over the same byte strings, with the same answers.
// Tests compare the library with it on random input, and run a whole fleet on
// it in virtual time, with losses, wipes and rollbacks that would take minutes
// on a real server.
//
// It is written to be read: where library.lua saves bytes and microseconds,
// this package shows what is meant. Both agree on more than the wire forms of
// package aggregator:
//
//   - A ring keeps 68 slots up to its head. The fleet's head never goes back. A
//     slot is refused if it is after slot(T)+1, or older than the ring is after
//     its head has moved to min(pushed head, slot(T)+1).
//   - Total is that of the window that ends at the pushed head, so that the node
//     can compare its own count of that window. Peak covers the windows that end
//     at max(first pushed slot, fleet's head-8) up to the fleet's head: what a
//     late push adds may tip a window that ended after it.
//   - A push of one empty slot is a reconcile: it changes nothing, and none of
//     it is refused. If its head is past the fleet's, its peak is its total.
//   - A node's field is dropped when none of its slots is among the 68 that are
//     kept. The window of 60 would be too short: a late push to a slot between
//     would be counted twice.
//   - A fleet's head that is more than a ring ahead of slot(T)+1 can come only
//     from a server whose clock went back. Such a key is dropped.
//   - A header or body that does not parse is an error before anything is
//     counted.
package redistwin

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Redis is the data of one server. It is not safe for concurrent use. Keys
// expire by the now that each call is given.
type Redis struct {
	// Full is how many records a namespace keeps before a rule's block must
	// replace another.
	Full int

	suspects map[string]*suspect
	clocks   map[string]bool  // that pushes claim the time
	lists    map[string]*list // by the key of the blocks
}

// New returns an empty server.
func New() *Redis {
	r := &Redis{Full: DefaultFull}
	r.Wipe()
	return r
}

// Wipe removes all data.
func (r *Redis) Wipe() {
	r.suspects = make(map[string]*suspect)
	r.clocks = make(map[string]bool)
	r.lists = make(map[string]*list)
}

// Clone returns a copy that shares nothing: the state to roll back to.
func (r *Redis) Clone() *Redis {
	c := New()
	c.Full = r.Full
	for k, s := range r.suspects {
		c.suspects[k] = s.clone()
	}
	maps.Copy(c.clocks, r.clocks)
	for k, l := range r.lists {
		c.lists[k] = l.clone()
	}
	return c
}

// Error is an answer that begins with EDGEGUARD.
type Error string

func (e Error) Error() string { return string(e) }

// Call runs one function at the server's time now. The answer is a string, an
// int64, or a list of those, as a client of Redis gets it. Where the library
// returns a hash, the reference sorts by field.
func (r *Redis) Call(now time.Time, function string, keys, args []string) (any, error) {
	switch function {
	case "edgeguard1_push":
		return r.push(now, keys, args)
	case "edgeguard1_split":
		return r.split(now, keys, args)
	case "edgeguard1_forget":
		return r.forget(now, keys, args)
	case "edgeguard1_replay_clock":
		return r.clock(keys, args)
	case "edgeguard1_publish":
		return r.publish(keys, args)
	case "edgeguard1_replace":
		return r.replace(now, keys, args)
	case "edgeguard1_beat":
		return r.beat(now, keys, args)
	case "edgeguard1_repair":
		return r.repair(keys, args)
	}
	return nil, fmt.Errorf("ERR Function not found: %s", function)
}

// clock makes the fleet's time what pushes claim (a replay's namespace), or the
// server's.
func (r *Redis) clock(keys, args []string) (any, error) {
	if len(keys) != 1 || len(args) != 1 {
		return nil, Error("EDGEGUARD arguments")
	}
	if args[0] != "" && args[0] != claimed {
		return nil, Error("EDGEGUARD arguments")
	}
	r.clocks[keys[0]] = args[0] == claimed
	return "OK", nil
}

// sorted returns a map's keys in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
