package enforce

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"edgeguard"
)

const (
	// maxPending bounds the changes kept for an Incremental enforcer: with more
	// changes, the whole list is read again, which then costs no more.
	maxPending = 10_000
	// maxBackoff is the longest pause between two tries of a failing enforcer
	// whose Every is not longer still.
	maxBackoff = time.Minute
	// resting bounds the load that an enforcer makes: after an update it rests
	// for at least so many times as long as the update took.
	resting = 3
	// defaultResync is how often the whole list is passed on where nothing
	// changed, so that an enforcer can restore what someone else took out.
	defaultResync = time.Minute
)

// Config is what a runner needs.
type Config struct {
	// Name says in the log and in errors which enforcer it is ("nftables", a
	// file's path).
	Name     string
	Enforcer Enforcer
	// Blocks returns the blocks that are to be enforced at now: List.Prefixes of the
	// blocklist, or less of them (see Around). It is called from Run, and has a
	// change before Changed is called with it. Changed is never called with what it
	// leaves out: in mode monitor it returns none and Changed is not called.
	Blocks func(now time.Time) iter.Seq[edgeguard.Block]
	// Now is the clock that the blocks' times are of.
	Now func() time.Time
	// Every replaces the enforcer's own shortest time between two updates.
	Every time.Duration
	// Resync is defaultResync if 0.
	Resync time.Duration
	// Log is written when the enforcer begins to fail and when it works again; nil
	// disables it.
	Log *slog.Logger
}

// Runner keeps one enforcer in step with a blocklist. Make one with [New]. All
// methods are safe for concurrent use; Run is called once.
type Runner struct {
	config      Config
	incremental Incremental // nil if the enforcer takes whole lists only
	kernel      bool
	wake        chan struct{} // length 1: there is something to do
	tried       chan struct{} // closed after the first update

	mu      sync.Mutex // guards all below
	whole   bool       // the whole list must be passed on
	pending map[netip.Prefix]edgeguard.Block
	stats   Stats

	// Of Run alone, and by the monotonic clock: whatever a step does to the time
	// of the blocks, the pace stays.
	next    time.Time // when the whole list must be passed on, changed or not
	allowed time.Time // no update before this time
	size    int       // of the last whole list
	first   sync.Once // closes tried
	// in is what an Incremental enforcer is to have: the last whole list with the
	// changes since. It is kept for the figures, because a change may be of an entry
	// that is there already. What ended stays in it until the next whole list.
	in map[netip.Prefix]struct{}
}

// New checks the config and makes a runner. Nothing happens before Run.
func New(c Config) (*Runner, error) {
	switch {
	case c.Enforcer == nil:
		return nil, errors.New("enforce: a runner needs an enforcer")
	case c.Blocks == nil:
		return nil, errors.New("enforce: a runner needs the blocks")
	case c.Now == nil:
		return nil, errors.New("enforce: a runner needs a clock")
	}
	traits := c.Enforcer.Traits()
	if c.Every <= 0 {
		c.Every = max(traits.Every, 0)
	}
	if c.Resync <= 0 {
		c.Resync = defaultResync
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runner{config: c, kernel: traits.Kernel, whole: true,
		wake: make(chan struct{}, 1), tried: make(chan struct{})}
	r.incremental, _ = c.Enforcer.(Incremental)
	if r.incremental != nil {
		r.pending = make(map[netip.Prefix]edgeguard.Block)
		r.in = make(map[netip.Prefix]struct{})
	}
	return r, nil
}

// Tried is closed when the first list has been passed on, whether that
// worked or not: a node that waits for it enforces before it answers.
func (r *Runner) Tried() <-chan struct{} { return r.tried }

// Changed records one change, a block or a tombstone, as OnChange of the
// blocklist reports it. It never waits for the enforcer.
func (r *Runner) Changed(b edgeguard.Block) {
	var ok bool
	if b.Prefix, ok = canonical(b.Prefix); !ok {
		return
	}
	r.mu.Lock()
	switch {
	case r.whole:
	case r.incremental == nil:
		r.whole = true
	default:
		r.pending[b.Prefix] = b
		if len(r.pending) > maxPending {
			r.whole = true
			clear(r.pending)
		}
	}
	r.mu.Unlock()
	r.signal()
}

// Refresh has the whole list passed on again soon. Call it after a change
// that Changed does not receive: another allowlist, another mode.
func (r *Runner) Refresh() {
	r.mu.Lock()
	r.whole = true
	clear(r.pending)
	r.mu.Unlock()
	r.signal()
}

func (r *Runner) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run passes on the whole list, then changes as they come, until ctx is
// done; an update that is under way then is cut off. It does not close the
// enforcer, and returns nil: an enforcer that fails is tried again, and seen
// in Stats.
func (r *Runner) Run(ctx context.Context) error {
	if watched, ok := r.config.Enforcer.(Watched); ok {
		var watching sync.WaitGroup
		watching.Go(func() { watched.Watch(ctx, r.Refresh) })
		defer watching.Wait()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		if r.due() {
			r.turn(ctx)
			continue
		}
		timer.Reset(r.pause())
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C:
		}
	}
	return nil
}

// due reports whether an update must be made and may be made now.
func (r *Runner) due() bool {
	now := time.Now()
	if now.Before(r.allowed) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.whole || len(r.pending) > 0 || !now.Before(r.next)
}

// pause is how long there is nothing to do if nothing is heard.
func (r *Runner) pause() time.Duration {
	until := r.next
	r.mu.Lock()
	if r.whole || len(r.pending) > 0 || until.Before(r.allowed) {
		until = r.allowed
	}
	r.mu.Unlock()
	return time.Until(until)
}

// turn makes one update.
func (r *Runner) turn(ctx context.Context) {
	defer r.first.Do(func() { close(r.tried) })
	start := time.Now()
	now := r.config.Now()
	r.mu.Lock()
	whole := r.whole || !time.Now().Before(r.next)
	changes := r.pending
	if r.incremental != nil {
		r.pending = make(map[netip.Prefix]edgeguard.Block)
	}
	r.whole = false
	r.mu.Unlock()
	if whole {
		r.replace(ctx, now)
	} else {
		r.apply(ctx, now, changes)
	}
	if rested := time.Now().Add(resting * time.Since(start)); r.allowed.Before(rested) {
		r.allowed = rested
	}
}

func (r *Runner) replace(ctx context.Context, now time.Time) {
	l := collect(now, r.config.Blocks(now), r.kernel, r.size)
	r.size = len(l.entries)
	rest := r.config.Resync
	if r.incremental == nil && len(l.entries) > 0 {
		rest = min(rest, l.next.Sub(now))
	}
	r.next = time.Now().Add(rest)
	if r.incremental != nil {
		clear(r.in)
		for _, e := range l.entries {
			r.in[e.Prefix] = struct{}{}
		}
	}
	r.mu.Lock()
	r.stats.Intended, r.stats.Withheld = len(l.entries), l.withheld
	r.mu.Unlock()
	if err := r.config.Enforcer.Replace(ctx, now, l.entries); err != nil {
		r.failed(ctx, err)
		return
	}
	r.worked(len(l.entries))
}

func (r *Runner) apply(ctx context.Context, now time.Time, changes map[netip.Prefix]edgeguard.Block) {
	var add []Entry
	var remove []netip.Prefix
	for prefix, b := range changes {
		if b.Lifted || !now.Before(b.Until) || r.kernel && b.Proxied {
			remove = append(remove, prefix)
			delete(r.in, prefix)
		} else {
			add = append(add, Entry{Prefix: prefix, Until: b.Until})
			r.in[prefix] = struct{}{}
		}
	}
	r.mu.Lock()
	r.stats.Intended = len(r.in)
	r.mu.Unlock()
	if err := r.incremental.Apply(ctx, now, add, remove); err != nil {
		r.failed(ctx, err)
		return
	}
	r.worked(len(r.in))
}

// worked notes a success.
func (r *Runner) worked(installed int) {
	r.allowed = time.Now().Add(r.config.Every)
	r.mu.Lock()
	s := &r.stats
	after := s.Failing
	s.Updates++
	s.Failing = 0
	s.LastSuccess = r.config.Now()
	s.Installed = installed
	r.mu.Unlock()
	if after > 0 {
		r.config.Log.Info("enforcer works again", "enforcer", r.config.Name, "failures", after)
	}
}

// failed notes a failure and has the whole list passed on after a pause
// that doubles with each.
func (r *Runner) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // cut off by the end of Run
	}
	r.mu.Lock()
	s := &r.stats
	s.Failures++
	s.Failing++
	s.LastFailure = r.config.Now()
	first := s.LastError == nil || s.Failing == 1 || s.LastError.Error() != err.Error()
	s.LastError = err
	r.whole = true
	clear(r.pending)
	r.allowed = time.Now().Add(r.backoff(s.Failing))
	r.mu.Unlock()
	if first {
		r.config.Log.Error("enforcer fails; the last installed list stays in place", "enforcer", r.config.Name, "error", err)
	}
}

// backoff is the pause after a number of failures in a row.
func (r *Runner) backoff(failing int) time.Duration {
	pause := max(r.config.Every, 100*time.Millisecond)
	return min(pause<<min(failing-1, 10), max(maxBackoff, pause)) // ten times doubled, a tenth of a second is over a minute
}

// Stats returns the enforcer's state.
func (r *Runner) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Pending = len(r.pending)
	s.Behind = r.whole || len(r.pending) > 0
	return s
}
