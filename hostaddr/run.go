package hostaddr

import (
	"context"
	"errors"
	"slices"
	"time"
)

// DefaultEvery is how often Run looks by default: an address that
// is added must be protected within ten seconds.
const DefaultEvery = 5 * time.Second

// Run looks immediately and then at the interval every (0 means DefaultEvery) until
// ctx ends. It calls changed after the first look and whenever the set or the error
// differs from before. The error is that of the last look, nil if all sources could
// be read. What a failing source named before stays in the set until it can be read.
//
// changed is called from Run's own goroutine and may take its time. Run
// returns the context's error.
func Run(ctx context.Context, c Config, every time.Duration, changed func(Set, error)) error {
	if every <= 0 {
		every = DefaultEvery
	}
	w := watch{sources: c.sources()}
	w.last = make([][]Protected, len(w.sources))
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for first := true; ; first = false {
		set, news, err := w.look()
		if news || first {
			changed(set, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// watch is what Run remembers from one look to the next.
type watch struct {
	sources []source
	last    [][]Protected // what each source named when it was last in order, and since
	set     Set
	problem string
}

// look asks every source again, and reports whether anything is different.
func (w *watch) look() (set Set, news bool, err error) {
	var all []Protected
	var errs []error
	for i, source := range w.sources {
		found, err := source()
		if err != nil {
			errs = append(errs, err)
			found = union(found, w.last[i])
		}
		w.last[i] = found
		all = append(all, found...)
	}
	set, err = newSet(all), errors.Join(errs...)
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	news = problem != w.problem || !slices.Equal(set, w.set)
	w.set, w.problem = set, problem
	return set, news, err
}

// union is a and what of b is not in it.
func union(a, b []Protected) []Protected {
	known := make(map[Protected]bool, len(a))
	for _, p := range a {
		known[p] = true
	}
	out := slices.Clone(a)
	for _, p := range b {
		if !known[p] {
			out = append(out, p)
		}
	}
	return out
}
