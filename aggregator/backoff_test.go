package aggregator

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"
)

func backoffKey(i int) Key {
	a := [4]byte{10}
	binary.BigEndian.PutUint16(a[2:], uint16(i))
	return Key{Meter: 7, Prefix: netip.PrefixFrom(netip.AddrFrom4(a), 32)}
}

// TestBackoff: of many nodes few fire before the first one's word can have arrived, and some
// fire soon if there is none; none waits for more than a second; and the order of the nodes
// is another one for each key.
func TestBackoff(t *testing.T) {
	for _, nodes := range []int{2, 5, 20, 50, 400} {
		const keys = 500
		ids := make([][8]byte, nodes)
		for i := range ids {
			ids[i] = NodeID("edge", time.Duration(i).String())
		}
		var soon, first int
		firsts := make(map[int]int)
		var earliest time.Duration
		for i := range keys {
			waits := make([]time.Duration, nodes)
			for j, id := range ids {
				if waits[j] = backoff(id, backoffKey(i), nodes); waits[j] < 0 || waits[j] > longestBackoff {
					t.Fatalf("%d nodes: a wait of %v", nodes, waits[j])
				}
				if waits[j] < longestBackoff/4 {
					soon++
				}
			}
			first = slices.Index(waits, slices.Min(waits))
			firsts[first]++
			earliest += slices.Min(waits)
		}
		if soon > 2*keys {
			t.Errorf("%d nodes: %.1f fire within a quarter of a second", nodes, float64(soon)/keys)
		}
		if mean := earliest / keys; mean > longestBackoff*3/5 {
			t.Errorf("%d nodes: the first fires after %v", nodes, mean)
		}
		for node, n := range firsts {
			if n > 20+4*keys/nodes {
				t.Errorf("%d nodes: node %d is first for %d of %d keys", nodes, node, n, keys)
			}
		}
	}
}

// TestBackoffQueue compares a backoff with a list, in random steps.
func TestBackoffQueue(t *testing.T) {
	type one struct {
		key  Key
		what int
		due  time.Time
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var b Backoff[int]
	var list []one
	id, now := NodeID("a", "b"), time.Unix(1_800_000_000, 0)
	find := func(k Key) int { return slices.IndexFunc(list, func(o one) bool { return o.key == k }) }
	for step := range 20_000 {
		k := backoffKey(rnd.IntN(40))
		at := find(k)
		switch rnd.IntN(8) {
		case 0:
			if b.Forget(k); at >= 0 {
				list = slices.Delete(list, at, at+1)
			}
		case 1, 2:
			now = now.Add(time.Duration(rnd.IntN(300)) * time.Millisecond)
			want := 0
			list = slices.DeleteFunc(list, func(o one) bool {
				if !o.due.After(now) {
					want += o.what
					return true
				}
				return false
			})
			for _, what := range b.TakeDue(now) {
				want -= what
			}
			if want != 0 {
				t.Fatalf("step %d: what is due differs by %d", step, want)
			}
		default:
			if !b.Wait(id, k, step, 9, now) {
				t.Fatal("no room")
			}
			if at >= 0 {
				list[at].what = step
			} else {
				list = append(list, one{k, step, now.Add(backoff(id, k, 9))})
			}
		}
		if b.Len() != len(list) || b.Has(k) != (find(k) >= 0) {
			t.Fatalf("step %d: %d wait, want %d", step, b.Len(), len(list))
		}
	}
}

// TestBackoffIsBounded: what finds no room, and what nobody else can do, is done at once; and
// no step of the clock makes anything wait for longer.
func TestBackoffIsBounded(t *testing.T) {
	var b Backoff[int]
	id, now := NodeID("a", "b"), time.Unix(1_800_000_000, 0)
	if b.Wait(id, backoffKey(0), 0, 1, now) {
		t.Error("a node that is alone waits for others")
	}
	for i := range mostBackoffs {
		if !b.Wait(id, backoffKey(i), i, 3, now) {
			t.Fatalf("no room for %d", i)
		}
	}
	if b.Wait(id, backoffKey(mostBackoffs), 0, 3, now) || b.Len() != mostBackoffs {
		t.Errorf("%d wait", b.Len())
	}
	if due := b.TakeDue(now.Add(-time.Hour)); len(due) != mostBackoffs {
		t.Errorf("after a step back by an hour %d are due", len(due))
	}
}
