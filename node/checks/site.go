package checks

import (
	"fmt"
	"time"

	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// SiteFails raises the alarm about a site that fails, while rules do not count its
// visitors' failures: one for all of its parts.
type SiteFails struct {
	// Fails reports whether a part fails, and Site says which: it is asked only then.
	Fails  func() bool
	Site   func() (all []pipeline.SiteState, late uint64)
	Alarms *alarm.Tracker
}

// Check raises the alarm, or ends it.
func (f *SiteFails) Check(now time.Time) {
	text, more := "", 0
	var all []pipeline.SiteState
	if f.Fails() {
		all, _ = f.Site()
	}
	for i := range all {
		switch s := &all[i]; {
		case !s.Armed:
		case text != "":
			more++
		default:
			text = fmt.Sprintf("%s fails: of its visitors of the last minute %d succeed, and %d who had succeeded before only fail (usual: %.0f a minute). "+
				"Rules that go by the status count no failures now, so whoever attacks is not stopped by them either: look at what the site answers",
				site(s), s.Succeeding, s.Failing, s.Visitors)
		}
	}
	if more > 0 {
		text += fmt.Sprintf("; so do %d other parts of it", more)
	}
	if text == "" {
		f.Alarms.Ends(alarm.Failing, "")
		return
	}
	f.Alarms.Begins(now, alarm.Failing, "", text)
}

// site names a part: a log itself does not fail, but the site that writes it.
func site(part *pipeline.SiteState) string {
	if part.Host {
		return part.Name
	}
	return "the site of " + part.Name
}
