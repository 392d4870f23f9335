package checks

import (
	"fmt"
	"time"

	"edgeguard/node/alarm"
)

const (
	// lateWithin is the time in which leastLate questions must have been answered too late
	// for the alarm, and after which it ends. A proxy whose own client hangs up at the wrong
	// moment looks the same, so a few say nothing.
	lateWithin = time.Minute
	leastLate  = 10
)

// Late raises the alarm about a listener that answers too late: its proxy has let the
// requests pass by then.
type Late struct {
	Alarms  *alarm.Tracker
	Address string

	seen, base uint64
	since      time.Time // of base
	last       time.Time // when there was another
}

// look compares the listener's counter with the last one. It returns how many questions
// were answered too late since a time, and whether these are many.
func (l *Late) look(now time.Time, total uint64) (n uint64, since time.Time, many bool) {
	if total < l.seen { // the listener was opened again
		l.seen, l.base = 0, 0
	}
	if total > l.seen {
		l.last = now
	}
	many = l.seen-l.base >= leastLate && now.Sub(l.last) <= lateWithin
	if !many && now.Sub(l.since) > lateWithin {
		l.base, l.since = l.seen, now
	}
	l.seen = total
	n = total - l.base
	return n, l.since, n >= leastLate && now.Sub(l.last) <= lateWithin
}

// Check compares the listener's counter with that of the last check. It raises the alarm, or
// ends it.
func (l *Late) Check(now time.Time, total uint64) {
	n, since, many := l.look(now, total)
	if !many {
		l.Alarms.Recovers(alarm.Late, l.Address)
		return
	}
	l.Alarms.Begins(now, alarm.Late, l.Address, fmt.Sprintf(
		"%s: at least %d questions since %s were answered after the proxy had stopped waiting, and unless it fails closed it let these requests pass: find what takes the processors (top), give edgeguard more of them, or let the proxy wait for longer",
		l.Address, n, since.UTC().Format(time.TimeOnly)))
}
