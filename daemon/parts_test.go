package daemon

import (
	"context"
	"slices"
	"sync"
	"testing"
)

// Settle starts what is new, ends what is gone first, and leaves alone what
// stayed.
func TestPartsSettle(t *testing.T) {
	var mu sync.Mutex
	var told []string
	tell := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s)
	}
	make := func(keys ...string) []part {
		var all []part
		for _, key := range keys {
			begun := key + " begins"
			tell := tell
			all = append(all, part{key: key, shows: key, run: func(ctx context.Context) {
				tell(begun)
				<-ctx.Done()
				tell(key + " ends")
			}})
		}
		return all
	}
	var p parts
	p.settle(t.Context(), make("a", "b"))
	p.settle(t.Context(), make("b", "c", "b"))
	if got := shows[string](&p); !slices.Equal(got, []string{"b", "c", "b"}) {
		t.Errorf("shown: %v", got)
	}
	p.stop()
	p.stop()
	if got := shows[string](&p); len(got) != 0 {
		t.Errorf("shown after the end: %v", got)
	}
	slices.Sort(told)
	want := []string{"a begins", "a ends", "b begins", "b ends", "c begins", "c ends"}
	if !slices.Equal(told, want) {
		t.Errorf("%v, want %v", told, want)
	}
}
