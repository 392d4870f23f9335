// Package supervisor runs the services of a node. It starts and stops them as the config
// changes, runs those again that fail, and raises their alarms.
package supervisor

import (
	"context"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/sleep"
	"edgeguard/node/alarm"
)

// service is something that runs for as long as the config wants it: a
// listener, a log, an enforcer.
type service interface {
	// Key names it with all of its settings. A reload makes every service of the
	// config and drops those whose key runs already: making one opens nothing.
	Key() string
	// Alarm returns the kind of its alarms, and what they are about.
	Alarm() (kind, about string)
	// Run opens what it needs, calls ready once it works, and returns when ctx is
	// done. If it returns earlier, its error is an alarm, and it is run again.
	Run(ctx context.Context, ready func()) error
	// Report adds its figures to those of the node.
	Report(*admin.Stats)
}

// Config is what a group needs to raise the alarms of its services.
type Config struct {
	Alarms *alarm.Tracker
	Now    func() time.Time
}

// retryEvery is how long after an error a service is run again.
const retryEvery = 5 * time.Second

// run runs one service until ctx is done.
func (c Config) run(ctx context.Context, one service) {
	kind, about := one.Alarm()
	ready := func() { c.Alarms.Recovers(kind, about) }
	for {
		err := one.Run(ctx, ready)
		if ctx.Err() != nil {
			c.Alarms.Ends(kind, about)
			return
		}
		if err != nil {
			c.Alarms.Begins(c.Now(), kind, about, err.Error())
		}
		if !sleep.For(ctx, retryEvery) {
			return
		}
	}
}

// Group is the services of one kind. It is safe for concurrent use.
type Group[S service] struct {
	Config

	mu   sync.Mutex // guards runs; held while services stop, so that there is one change at a time
	runs []*running[S]

	figures sync.Mutex // guards shown, apart from mu: readers do not wait for a service to stop
	shown   []S
}

// running is a service that was started.
type running[S service] struct {
	service S
	stop    context.CancelFunc
	ended   chan struct{}
}

// Settle makes the services that run those of want, in that order. The others
// end before new ones start: a service that only changed its settings finds its
// port or file free.
func (g *Group[S]) Settle(ctx context.Context, want []S) {
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := make(map[string]*running[S])
	for _, w := range want {
		kept[w.Key()] = nil
	}
	var leaving []*running[S]
	for _, r := range g.runs {
		if _, wanted := kept[r.service.Key()]; wanted {
			kept[r.service.Key()] = r
		} else {
			leaving = append(leaving, r)
		}
	}
	end(leaving)
	g.runs = nil
	for _, w := range want {
		r := kept[w.Key()]
		if r == nil {
			r = g.start(ctx, w)
			kept[w.Key()] = r
		}
		g.runs = append(g.runs, r)
	}
	g.show()
}

// Stop ends all services and waits for them.
func (g *Group[S]) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	end(g.runs)
	g.runs = nil
	g.show()
}

func (g *Group[S]) start(ctx context.Context, w S) *running[S] {
	inner, cancel := context.WithCancel(ctx)
	r := &running[S]{service: w, stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		g.run(inner, w)
	}()
	return r
}

// end stops all of them together, and then waits for each.
func end[S service](all []*running[S]) {
	for _, r := range all {
		r.stop()
	}
	for _, r := range all {
		<-r.ended
	}
}

func (g *Group[S]) show() {
	shown := make([]S, len(g.runs))
	for i, r := range g.runs {
		shown[i] = r.service
	}
	g.figures.Lock()
	g.shown = shown
	g.figures.Unlock()
}

// All returns the running services, in the config's order.
func (g *Group[S]) All() []S {
	g.figures.Lock()
	defer g.figures.Unlock()
	return g.shown
}

// Report adds the figures of all.
func (g *Group[S]) Report(s *admin.Stats) {
	for _, one := range g.All() {
		one.Report(s)
	}
}
