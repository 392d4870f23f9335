package neighbours

import (
	"context"
	"fmt"
	"sync"
	"time"

	"edgeguard/internal/sleep"
	"edgeguard/node/alarm"
	"edgeguard/notify"
)

const (
	// firstPause is how long after a failed try the next one is made; it doubles with
	// each, to longestPause.
	firstPause, longestPause = time.Second, time.Minute
	// tooOld is how long a message is tried: an alarm of then is not news.
	tooOld = 10 * time.Minute
	// notifyAlarmAfter is how long a receiver fails before that is an alarm.
	notifyAlarmAfter = time.Minute
	// drainTime is how long a node that ends waits for the last post.
	drainTime = 3 * time.Second
)

// answer is what came of a post.
type answer = notify.Answer

// failing is how a receiver fails. It is one goroutine's.
type failing struct {
	since time.Time // zero while it does not
	pause time.Duration
	next  time.Time // before which nothing is tried
	text  string    // that was logged
}

// counts are the figures of a receiver. They are safe for concurrent use.
type counts struct {
	mu sync.Mutex // guards the figures
	notify.Figures
}

func (c *counts) load() notify.Figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Figures
}

func (c *counts) change(f func(*notify.Figures)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.Figures)
}

// Run sends until ctx is done, and then once more.
func (r *NotifyReceiver) Run(ctx context.Context, ready func()) error {
	if err := r.does.read(r.Version); err != nil {
		r.figures.change(func(f *notify.Figures) { f.Error = err.Error() })
		return fmt.Errorf("the receiver %s is told nothing: %w", r.wants.Name, err)
	}
	r.figures.change(func(f *notify.Figures) { f.Error = "" })
	ready()
	defer r.alarms.Ends(alarm.Notify, r.wants.Name)
	posts, end := r.drains(ctx)
	defer end()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.leave(posts)
			return nil
		}
		r.look(posts)
	}
}

// drains returns the context of posts, which ends some time after ctx.
func (r *NotifyReceiver) drains(ctx context.Context) (posts context.Context, end func()) {
	posts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if sleep.For(posts, drainTime) {
			cancel()
		}
	})
	return posts, func() { stop(); cancel() }
}

// look sends what is due.
func (r *NotifyReceiver) look(ctx context.Context) {
	now := r.Clock.Now()
	if now.Before(r.failing.next) {
		return
	}
	settled := r.Settled()
	if !r.does.next(now, r.active(now), settled, r.monitor.Load()) {
		return
	}
	if now.Sub(r.does.made()) >= tooOld {
		r.drop(now, "it was not accepted in time")
		return
	}
	r.send(ctx, now)
}

// leave sends what waits, once.
func (r *NotifyReceiver) leave(ctx context.Context) {
	now := r.Clock.Now()
	if r.does.last(now, r.monitor.Load()) {
		r.send(ctx, now)
	}
}

// send posts what is prepared.
func (r *NotifyReceiver) send(ctx context.Context, now time.Time) {
	a := r.does.post(ctx, r.Clock.Epoch(now))
	now = r.Clock.Now() // a post may have taken its whole time
	if a.Error == nil {
		r.does.arrived(now)
		r.figures.change(func(f *notify.Figures) { f.Sent, f.Error, f.Success = f.Sent+1, "", r.Clock.Epoch(now).UTC() })
		if r.failing.text != "" {
			r.Log.Info("the receiver accepts notifications again", "receiver", r.wants.Name)
		}
		r.failing = failing{}
		r.alarms.Recovers(alarm.Notify, r.wants.Name)
		return
	}
	r.fails(now, &a)
}

// fails notes a post that failed, and when the next is tried.
func (r *NotifyReceiver) fails(now time.Time, a *answer) {
	text := a.Error.Error()
	r.figures.change(func(f *notify.Figures) { f.Failed, f.Error = f.Failed+1, text })
	f := &r.failing
	if f.since.IsZero() {
		f.since, f.pause = now, firstPause
	}
	if f.text != text { // the same again is one line
		r.Log.Warn("a notification was not accepted", "receiver", r.wants.Name, "error", text)
		f.text = text
	}
	f.next = now.Add(max(f.pause, a.After))
	f.pause = min(2*f.pause, longestPause)
	if a.Refused {
		r.drop(now, text)
	}
	if now.Sub(f.since) >= notifyAlarmAfter {
		r.alarms.Begins(now, alarm.Notify, r.wants.Name, "the receiver "+r.wants.Name+" accepts no notifications: "+text)
	}
}

// drop gives up what is prepared.
func (r *NotifyReceiver) drop(now time.Time, why string) {
	lost := r.does.drop()
	r.figures.change(func(f *notify.Figures) { f.Dropped += uint64(lost) })
	if lost > 0 {
		r.Log.Warn("notifications were given up", "receiver", r.wants.Name, "count", lost, "why", why, "at", r.Clock.Epoch(now).UTC().Format(time.RFC3339))
	}
}
