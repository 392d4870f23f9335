package admin

import (
	"testing"

	"edgeguard"
)

// What was lifted is put back once, and only the last 200,000 are remembered, but the last change
// as a whole.
func TestLiftingsAreBounded(t *testing.T) {
	var l liftings
	known := func(want ...edgeguard.BatchID) {
		t.Helper()
		var got []edgeguard.BatchID
		for _, d := range l.all {
			got = append(got, d.Batch)
		}
		if len(got) != len(want) || len(got) > 0 && (got[0] != want[0] || got[len(got)-1] != want[len(want)-1]) {
			t.Fatalf("known are %v, want %v", got, want)
		}
	}
	for i := range 3 {
		l.keep(BulkLifted{Batch: edgeguard.BatchID(i + 1), Lifted: MostLifted - 1})
	}
	known(2, 3)
	l.keep(BulkLifted{Batch: 4, Lifted: 2})
	known(2, 3, 4)
	l.keep(BulkLifted{Batch: 5, Lifted: 1})
	known(3, 4, 5)
	if d, ok := l.take(4); !ok || d.Lifted != 2 {
		t.Errorf("%+v, %v", d, ok)
	}
	if d, ok := l.take(4); ok {
		t.Errorf("taken twice: %+v", d)
	}
	if d, ok := l.take(0); ok {
		t.Errorf("of no name: %+v", d)
	}
	known(3, 5)
}
