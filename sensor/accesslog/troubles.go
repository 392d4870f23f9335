package accesslog

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
)

// Where a live log can be in trouble, as [Live.Trouble] reports it.
const (
	atFile        = "file"
	atFormat      = "format"
	atFields      = "fields"
	atSocket      = "socket"
	atConnections = "connections"
)

// troubles knows what is wrong now, and reports each change once: whoever logs
// must not write a line per attempt. Safe for concurrent use.
type troubles struct {
	tell func(at string, err error)

	mu    sync.Mutex // guards the rest, and keeps reports in order
	now   map[string]error
	count uint64
}

// set notes what is wrong at a place, or with nil that all is well there.
func (t *troubles) set(at string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.now[at]
	switch {
	case err == nil && old == nil, err != nil && old != nil && err.Error() == old.Error():
		return
	case err == nil:
		delete(t.now, at)
	default:
		if t.now == nil {
			t.now = map[string]error{}
		}
		t.now[at] = err
		t.count++
	}
	if t.tell != nil {
		t.tell(at, err)
	}
}

// all returns how often something was wrong, and what is now, in a fixed order.
func (t *troubles) all() (count uint64, now error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	errs := slices.SortedFunc(maps.Values(t.now), func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return t.count, errors.Join(errs...)
}
