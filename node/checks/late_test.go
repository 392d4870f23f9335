package checks

import (
	"testing"
	"time"
)

// Ten of a minute are many, and they are until a minute has had none.
func TestLate(t *testing.T) {
	var l Late
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, step := range []struct {
		after time.Duration
		total uint64
		n     uint64
		many  bool
	}{
		{time.Second, 0, 0, false},
		{time.Second, 9, 9, false},
		{lateWithin, 9, 0, false}, // they are forgotten after this
		{time.Second, 10, 1, false},
		{time.Second, 19, 10, true},
		{lateWithin, 19, 10, true},
		{time.Second, 20, 11, true}, // it goes on, and all are said
		{lateWithin + time.Second, 20, 0, false},
		{time.Second, 29, 9, false},
		{time.Second, 3, 3, false}, // opened again
		{time.Second, 13, 13, true},
	} {
		now = now.Add(step.after)
		if n, _, many := l.look(now, step.total); n != step.n || many != step.many {
			t.Errorf("step %d: %d, %v", i, n, many)
		}
	}
}
