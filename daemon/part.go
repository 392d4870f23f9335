package daemon

import (
	"context"
	"sync"
)

// part is something that runs for as long as the config wants it: a listener,
// a log, an enforcer.
type part struct {
	// key is what it is and all of its settings: while a reload wants the same
	// key, the part goes on undisturbed.
	key string
	// run ends when its context does.
	run func(context.Context)
	// shows is what its figures are read from.
	shows any
}

// parts are the parts of one kind that run. Safe for concurrent use; the zero
// value is ready.
type parts struct {
	mu   sync.Mutex // held while parts stop: there is one change at a time
	live []*running
	// figures guards what each shows, apart from mu, so that nobody who
	// reads figures waits for a part to stop.
	figures sync.Mutex
	shown   []any
}

// running is a part that was started.
type running struct {
	part
	stop  context.CancelFunc
	ended chan struct{}
}

// settle makes the parts that run those of want, in that order: the others
// have ended before the new ones start, so that one that merely changed its
// settings finds its port or file free.
func (p *parts) settle(ctx context.Context, want []part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := make(map[string]*running)
	for _, w := range want {
		kept[w.key] = nil
	}
	var leaving []*running
	for _, r := range p.live {
		if _, wanted := kept[r.key]; wanted {
			kept[r.key] = r
		} else {
			leaving = append(leaving, r)
		}
	}
	end(leaving)
	p.live = nil
	for _, w := range want {
		r := kept[w.key]
		if r == nil {
			r = start(ctx, w)
			kept[w.key] = r
		}
		p.live = append(p.live, r)
	}
	p.show()
}

// stop ends all parts and waits for them.
func (p *parts) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	end(p.live)
	p.live = nil
	p.show()
}

func start(ctx context.Context, w part) *running {
	inner, cancel := context.WithCancel(ctx)
	r := &running{part: w, stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		w.run(inner)
	}()
	return r
}

// end stops all of them at once, and then waits for each.
func end(all []*running) {
	for _, r := range all {
		r.stop()
	}
	for _, r := range all {
		<-r.ended
	}
}

func (p *parts) show() {
	shown := make([]any, 0, len(p.live))
	for _, r := range p.live {
		shown = append(shown, r.shows)
	}
	p.figures.Lock()
	p.shown = shown
	p.figures.Unlock()
}

// shows gives what the running parts show of one type, in the config's order.
func shows[T any](p *parts) []T {
	p.figures.Lock()
	defer p.figures.Unlock()
	var out []T
	for _, s := range p.shown {
		if v, ok := s.(T); ok {
			out = append(out, v)
		}
	}
	return out
}
