package replay

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/detector"
)

// SiteFailure is a time in which the site failed: rules that go by the status did not count
// failures then.
type SiteFailure struct {
	// Host is the name in own_hosts that failed, empty for all hosts that are none of them.
	Host string
	// Begin is the first second and End the one after the last; zero where the events end
	// before it.
	Begin, End time.Time

	part detector.SitePart
}

// turned notes that a part of the site begins or ends to fail.
func (l *ledger) turned(t detector.Turn) {
	if t.Armed {
		o := SiteFailure{Begin: t.Since, part: t.Part}
		if t.Part.Host > 0 {
			o.Host = l.own.Name(t.Part.Host - 1)
		}
		l.outages = append(l.outages, o)
		return
	}
	for i := len(l.outages) - 1; i >= 0; i-- {
		if o := &l.outages[i]; o.part == t.Part && o.End.IsZero() {
			o.End = t.Since
			return
		}
	}
}

// lifted notes that a block was taken back because the site failed.
func (l *ledger) lifted(now time.Time, rule string, prefix netip.Prefix) {
	if l.onLifted != nil {
		l.onLifted(now, rule, prefix)
	}
	if o := l.rows.kept[l.rowOf(rule, edgeguard.Key{Prefix: prefix})]; o != nil {
		o.Lifted++
	}
}

// addExcused adds what rule i excused to its report.
func (l *ledger) addExcused(i int, d *detector.Detector, out *RuleReport) {
	out.Excused = l.excused.sorted(i)
	out.ExcusedEvents += d.UncountedInOutage(i)
}
