package lists

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"edgeguard/admin"
	"edgeguard/enforce"
	"edgeguard/internal/sleep"
	"edgeguard/node/alarm"
)

const (
	// emptyTries is how often the program that reads an emptied list is notified:
	// it may be gone, too.
	emptyTries = 5
	// mostPause is the longest time between two tries to empty a list.
	mostPause = time.Minute
)

// emptying empties a list that the config no longer has: a service.
type emptying struct {
	now    func() time.Time
	alarms *alarm.Tracker
	log    *slog.Logger
	owned  *record
	list   enforce.Owned
	clouds CloudDeps
}

// left returns a service for each list that the config no longer has.
func (e *Lists) left(node string, wanted []listOf) (all []*emptying) {
	left, err := e.owned.want(owned(wanted))
	e.owned.saved(err)
	deps := e.config.Clouds
	deps.Node = node
	for _, o := range left {
		all = append(all, &emptying{now: e.config.Now, alarms: e.config.Alarms, log: e.config.Log, owned: e.owned, list: o, clouds: deps})
	}
	return all
}

func (e *emptying) Key() string             { return fmt.Sprintf("empty %+v", e.list) }
func (e *emptying) Alarm() (string, string) { return alarm.Enforcer, "list " + e.list.Path }
func (e *emptying) Report(*admin.Stats)     {}

// Run empties the list, and then waits for ctx.
func (e *emptying) Run(ctx context.Context, _ func()) error {
	e.empty(ctx)
	<-ctx.Done()
	return nil
}

// once tries to empty the list. Of a list that a fleet shares, another node may have it.
func (e *emptying) once(ctx context.Context, o *enforce.Owned) error {
	if IsCloud(o) {
		return emptyCloudAlone(ctx, o, e.clouds)
	}
	return Empty(ctx, e.now(), o)
}

// empty empties the list and removes it from the record. A list that cannot be
// emptied is an alarm, and tried again.
func (e *emptying) empty(ctx context.Context) {
	o, about := e.list, "list "+e.list.Path
	defer e.alarms.Ends(alarm.Enforcer, about)
	pausing := time.Second
	for try := 1; ; try++ {
		err := e.once(ctx, &o)
		switch {
		case ctx.Err() != nil:
			return // it is still on the record
		case err == nil:
			e.log.Info("list emptied: it was removed from the config", "list", o.Path)
		case errors.Is(err, enforce.ErrInUse):
			e.log.Info("list not emptied: another edgeguard writes it", "list", o.Path)
		case errors.Is(err, enforce.ErrNotOurs), errors.Is(err, errShared), errors.Is(err, enforce.ErrNotLoaded) && try >= emptyTries:
			e.alarms.Happened(e.now(), alarm.Enforcer, about+" is left", fmt.Sprintf(
				"the list %s was removed from the config but not emptied: %v: make sure that no program reads it", o.Path, err))
		default:
			e.alarms.Begins(e.now(), alarm.Enforcer, about, fmt.Sprintf(
				"the list %s was removed from the config but cannot be emptied, so its addresses stay blocked: %v", o.Path, err))
			if !sleep.For(ctx, pausing) {
				return
			}
			pausing = min(2*pausing, mostPause)
			continue
		}
		e.owned.saved(e.owned.forget(o))
		return
	}
}
