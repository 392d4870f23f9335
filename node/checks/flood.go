package checks

import (
	"fmt"
	"time"

	"edgeguard/detector"
	"edgeguard/node/alarm"
)

// Flooded raises the alarm about a flood of sources that can be forged: no address
// is blocked for it, so an operator has to act. Its end is logged.
type Flooded struct {
	Watch  *detector.FloodWatch
	Alarms *alarm.Tracker
	Log    func(text string, args ...any)
}

// Check raises the alarm, or ends it.
func (f *Flooded) Check(now time.Time) {
	current, lasting, ended := f.Watch.JudgeSeconds(now)
	for _, i := range ended {
		f.Alarms.Ends(alarm.Flood, "")
		f.Log("a spoofed flood has ended", "begin", i.Begin, "end", i.End, "peak", i.Peak, "peak_at", i.PeakAt, "sources", i.Sources)
	}
	if lasting {
		f.Alarms.Begins(now, alarm.Flood, "", fmt.Sprintf(
			"%d fresh sources since %s, at the peak %d a second (%s), completed no handshake: their addresses are likely forged, or of reflectors, and none is blocked for it; turn on SYN cookies, and have the network before this host filter",
			current.Sources, current.Begin.Format(time.RFC3339), current.Peak, current.PeakAt.Format(time.RFC3339)))
	}
}
