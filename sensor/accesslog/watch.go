package accesslog

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"

	"edgeguard/internal/sleep"
)

// watcher ends a wait early when something happens in a watched folder. It is a
// convenience only: where the kernel does not report (another file system, no
// watches left), the wait ends by its time.
type watcher struct {
	notify  *fsnotify.Watcher // nil where there is none
	watched map[string]bool
	last    time.Time
}

// settle is the least time between two wake-ups. A server that writes every line
// on its own is then read some lines at a time, and the kernel folds its
// repeated news into one.
const settle = 2 * time.Millisecond

// longSettle is settle after a turn that read much (see much): the server writes
// a buffer at a time, and a wake-up for each finds its code and tables gone from
// the caches. One for several costs a line a third less, and its answer is still
// as quick as the buffer is.
const longSettle = 50 * time.Millisecond

// much is half of the buffer that nginx's access_log usually has.
const much = 32 << 10

func newWatcher() *watcher {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		w = nil
	}
	return &watcher{notify: w, watched: map[string]bool{}}
}

// add adds a folder, once it exists.
func (w *watcher) add(folder string) {
	if w.notify != nil && !w.watched[folder] && w.notify.Add(folder) == nil {
		w.watched[folder] = true
	}
}

// wait returns after d, or when something has happened and settle has passed
// since it returned for that before, or when ctx has ended.
func (w *watcher) wait(ctx context.Context, d, settle time.Duration) {
	if w.notify == nil {
		sleep.For(ctx, d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
		return
	case <-w.notify.Events:
	case <-w.notify.Errors: // such as an overflow: something has happened
	}
	sleep.For(ctx, settle-time.Since(w.last))
	w.last = time.Now()
}

func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}
