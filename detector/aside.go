package detector

import (
	"strconv"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/internal/unsafetext"
	"edgeguard/shard"
)

// asideCounts is what an excusing meter does not count: the failures of clients while the site
// fails. Nothing acts on it. It tells who would have been over a limit.
type asideCounts struct {
	table  atomic.Pointer[shard.Table] // nil before the first; it is empty once the windows have passed
	events atomic.Uint64
	scopes atomic.Uint64 // in which the meter counted, if it counts everybody
}

// makeAside makes the meter's counts aside if it is excusing, or takes over the former one.
func (m *meter) makeAside(former *meter) {
	switch {
	case !m.SparesOutages():
		return
	case former != nil && former.aside != nil:
		m.aside = former.aside
	default:
		m.aside = new(asideCounts)
	}
	m.mark, _ = strconv.ParseUint(m.Fingerprint, 16, 64) // rules promises 16 hex digits
}

// setsAside reports whether an excused event is not counted in the meter. Evidence
// that can be forged only alarms: it goes on.
func (m *meter) setsAside(c *counting) bool {
	return c.excused && m.aside != nil && c.event.Verified&m.Kind != 0
}

// asideTable returns the table of what is counted aside, made at the first event.
func (m *meter) asideTable(c *Config) *shard.Table {
	if t := m.aside.table.Load(); t != nil {
		return t
	}
	config := m.tableConfig(c)
	config.Peaks = false
	if t := shard.New(c.Memory, config); !m.aside.table.CompareAndSwap(nil, t) {
		t.Close()
	}
	return m.aside.table.Load()
}

// countAside counts an event aside that the meter matches at a cost, and reports the rules whose limit
// the key would have passed: by what was counted before and aside. A value that was
// counted in both counts twice.
func (c *counting) countAside(m *meter, cost uint16) {
	var buf [attributesSize]byte
	var op shard.Op
	with, ok := m.prepare(&op, c, cost, buf[:0])
	if !ok {
		return
	}
	op.With = unsafetext.String(with)
	n := c.readAnswer(m.asideTable(&c.d.config).Add(&op), op.Cost)
	if n.cost == 0 {
		return
	}
	m.aside.events.Add(1)
	if !m.Everybody { // what a client is spared is of its own counts
		c.charge(&c.occasion, m, uint32(n.added))
	}
	if c.standing == blocklist.Blocked {
		return
	}
	n.count += m.proven.Count(op.Addr, op.With, op.Now)
	for _, i := range m.rules {
		if r := &c.d.rules[i]; n.crossed(r.Limit) {
			x := excess{count: n, rule: i, limit: r.Limit}
			x.reportCrossing(&c.occasion, m, edgeguard.Crossing{Action: edgeguard.ActionShadow, Excused: true})
		}
	}
}

// UncountedInOutage returns how many events rule i, by its place in the config, did not count because
// the site failed. Rules of one meter share it.
func (d *Detector) UncountedInOutage(i int) uint64 {
	if s := d.meters[d.rules[i].Meter].aside; s != nil {
		return s.events.Load()
	}
	return 0
}

// asideTables calls yield with the table aside of each meter that has one.
func (d *Detector) asideTables(yield func(Table) bool) {
	for i := range d.meters {
		m := &d.meters[i]
		if m.aside == nil {
			continue
		}
		if t := m.aside.table.Load(); t != nil && !yield(Table{Meter: m.Meter, Table: t}) {
			return
		}
	}
}

// watchAnswer is begin for the i-th event's answer. It reports whether the batch must end with
// this event, since it armed a scope: what comes after it must find the blocks lifted.
// The watch stays locked from the first answer on, until unlocked.
func (b *batch) watchAnswer(d *Detector, i int, ev *edgeguard.Event) (last bool) {
	a := answerOf(ev)
	if a == noAnswer {
		return false
	}
	g := d.outages
	if !b.locked {
		g.mu.Lock()
		b.locked = true
	}
	if b.scopes[i] = g.scopeOf(ev); a != success {
		b.fails.add(i)
	}
	if g.judgeAnswer(b.scopes[i], ev.Addr, b.moments[i], b.known.has(i) && b.standings[i] == blocklist.Blocked, a) {
		b.excused.add(i)
	}
	return len(g.turns) > 0
}

// decideExcused decides the batch event by event, because some of its failures are
// excused, or because its last event armed or disarmed a scope.
func (b *batch) decideExcused(d *Detector, nows []time.Time, events []edgeguard.Event, verdicts []edgeguard.Verdict) {
	clear(verdicts)
	for i := range events {
		b.showDoors(d, events, i)
		c := b.openDecision(d, i, nows[i], &events[i])
		if i == len(events)-1 && b.turned {
			d.tellTurns(nows[i])
		}
		if !d.listless() {
			c.askLists()
		}
		if c.excused = b.excused.has(i) && d.outages.maySpare(c.event.Addr, c.nowSec); !c.isExempt() {
			if d.asks && c.awaitsAnswer() {
				c.askRules(&c.listed, false)
			}
			c.ours = b.ours.has(i) || c.refusesRecorded()
			c.countAll()
			c.judgeCounts()
			c.repeatDenial(b.ours.has(i))
		}
		if c.late {
			b.late.add(i)
		}
		if !c.isUnaffected() {
			verdicts[i] = c.finishVerdict()
		}
		b.notes.noteVerdict(d.IsAnswer(&events[i]), c.isExempt(), verdicts[i].Action)
	}
}
