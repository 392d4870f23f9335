package detector

import (
	"time"

	"edgeguard"
	"edgeguard/shard"
)

const (
	// tellAfter is how long a crossing of what everybody counts by the status waits until it is told: a site
	// that fails makes every login fail, and shows that within a minute.
	tellAfter = liftBack
	mostLate  = 1024
)

// lateCrossing is one that waits.
type lateCrossing struct {
	edgeguard.Crossing
	scopes uint64 // in which its meter counted, a bit each
}

// tell reports a crossing, or has it wait.
func (d *Detector) tell(m *meter, told edgeguard.Crossing) {
	if !m.Everybody || m.aside == nil || told.Excused {
		d.config.Crossed(told)
		return
	}
	g := d.outages
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.late) < mostLate {
		g.late = append(g.late, lateCrossing{told, m.aside.scopes.Load()})
	}
}

// tellLate reports the crossings that have waited long enough.
func (d *Detector) tellLate(now time.Time) {
	if d.outages == nil || d.config.Crossed == nil {
		return
	}
	for _, told := range d.outages.takeLate(func(l *lateCrossing) bool { return now.Sub(l.Time) >= tellAfter }) {
		d.config.Crossed(told.Crossing)
	}
}

// TellWaiting reports the crossings that wait, after the last of recorded events: nothing can show any more that
// the site failed.
func (d *Detector) TellWaiting(now time.Time) { d.tellLate(now.Add(tellAfter)) }

// excuseLate takes back what everybody counted where scopes were armed: the crossings that wait are told as
// excused, and the counts of their meters begin anew, since a mark or a slot does not say which part it is of.
func (d *Detector) excuseLate(now time.Time, armed uint64) {
	for i := range d.meters {
		m := &d.meters[i]
		if !m.Everybody || m.aside == nil || m.aside.scopes.Load()&armed == 0 {
			continue
		}
		m.proven.EachEntry(m.slotAt(seconds(now)), func(e shard.Entry) bool {
			m.proven.ClearEntry(e)
			return true
		})
	}
	for _, told := range d.outages.takeLate(func(l *lateCrossing) bool { return l.scopes&armed != 0 }) {
		if told.Excused = true; d.config.Crossed != nil {
			d.config.Crossed(told.Crossing)
		}
	}
}

// takeLate removes crossings that wait, and returns them.
func (g *outageWatch) takeLate(is func(*lateCrossing) bool) (taken []lateCrossing) {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := g.late[:0]
	for i := range g.late {
		if is(&g.late[i]) {
			taken = append(taken, g.late[i])
		} else {
			left = append(left, g.late[i])
		}
	}
	clear(g.late[len(left):])
	g.late = left
	return taken
}
