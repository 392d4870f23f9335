package aggregator

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func key(i int) Key {
	addr := netip.AddrFrom4([4]byte{192, byte(i >> 16), byte(i >> 8), byte(i)})
	return Key{Meter: 1, Prefix: netip.PrefixFrom(addr, 32)}
}

// TestQueue: of two marks of a key the higher one is kept, also where one was
// taken in between; the queue is bounded, and says that something waits.
func TestQueue(t *testing.T) {
	q := NewClearedQueue()
	q.Add([]Cleared{{key(1), ClearedMark{7, 5}}, {key(2), ClearedMark{3, 5}}})
	q.Add([]Cleared{{key(1), ClearedMark{6, 5}}, {key(2), ClearedMark{4, 5}}})
	<-q.Waiting
	owed := q.TakeAll()
	if len(owed) != 2 || owed[key(1)] != (ClearedMark{7, 5}) || owed[key(2)] != (ClearedMark{4, 5}) || len(q.TakeAll()) != 0 {
		t.Errorf("taken: %v", owed)
	}
	q.Add([]Cleared{{key(1), ClearedMark{8, 5}}, {key(2), ClearedMark{1, 5}}, {key(3), ClearedMark{1, 5}}})
	<-q.Waiting
	q.PutBack(owed)
	<-q.Waiting
	owed = q.TakeAll()
	if len(owed) != 3 || owed[key(1)] != (ClearedMark{8, 5}) || owed[key(2)] != (ClearedMark{4, 5}) {
		t.Errorf("put back and taken again: %v", owed)
	}
	for i := range mostCleared + 10 {
		q.Add([]Cleared{{key(i), ClearedMark{1, 5}}})
	}
	q.Add([]Cleared{{key(0), ClearedMark{2, 5}}})
	if owed = q.TakeAll(); len(owed) != mostCleared || owed[key(0)] != (ClearedMark{2, 5}) {
		t.Errorf("%d keys wait, the first with %v", len(owed), owed[key(0)])
	}
}

// TestFloors: a mark is taken back once it has been there for 5 s, and then once
// a minute; another mark begins again.
func TestFloors(t *testing.T) {
	var f ClearedFloors
	at := func(s int) time.Time { return time.Unix(1_700_000_000+int64(s), 0) }
	var due []string
	active := false
	for s := range 200 {
		switch {
		case s == 3:
			f.NoteMark(key(1), ClearedMark{8, 5}, at(s))
		case s > 3 && s < 130:
			f.NoteMark(key(1), ClearedMark{9, 5}, at(s))
		}
		some, marks, forged := f.DueMarks(at(s))
		for _, one := range some {
			due = append(due, fmt.Sprint(s, one.Slot))
		}
		if marks != active || forged {
			active = marks
			due = append(due, fmt.Sprint(s, marks, forged))
		}
	}
	if want := "[9 9 9 true false 69 9 129 9 189 false false]"; fmt.Sprint(due) != want {
		t.Errorf("due: %v, want %s", due, want)
	}
	f.NoteMark(key(2), ClearedMark{9, 5}, at(0))
	if some, marks, forged := f.DueMarks(at(100)); len(some) != 0 || marks || forged {
		t.Errorf("one answer long ago: %v, %v, %v", some, marks, forged)
	}
	if !f.Forged(key(3), at(100)) || f.Forged(key(3), at(130)) {
		t.Error("forged counts are new twice, or never")
	}
	if some, marks, forged := f.DueMarks(at(189)); len(some) != 0 || marks || !forged {
		t.Errorf("forged counts: %v, %v, %v", some, marks, forged)
	}
	if some, marks, forged := f.DueMarks(at(190)); len(some) != 0 || marks || forged || !f.Forged(key(3), at(191)) {
		t.Errorf("forged counts after a minute: %v, %v, %v", some, marks, forged)
	}
	f.DueMarks(at(300))
	for i := range mostFloors + 9 {
		f.NoteMark(key(i), ClearedMark{9, 5}, at(100))
	}
	if len(f.known) != mostFloors {
		t.Errorf("%d keys are remembered", len(f.known))
	}
}
