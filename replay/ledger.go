package replay

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/hostaddr"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning"
)

// ledger collects during a run what the report needs.
type ledger struct {
	protected         hostaddr.Set
	onCrossed         func(edgeguard.Crossing)
	onLifted          func(now time.Time, rule string, prefix netip.Prefix)
	protectedRefusals uint64 // refused events of protected addresses, which a live node passes

	rules map[string]*account
	order []*account
	rows  *rows
	own   *rules.Hosts
	// excused are the keys that would have crossed a limit while the site failed, in rows of
	// their own. outages are the times.
	excused *rows
	outages []SiteFailure
	meters  []meterBook
	recent  [recentSize]refusal
}

// recentSize is how many of the recently refused addresses the ledger
// remembers: a power of two.
const recentSize = 1 << recentBits

const recentBits = 9

// refusal is what a refused event of an address counts for. It is looked up
// once and reused, since most refused events are of few addresses.
type refusal struct {
	addr   netip.Addr
	by     *account
	spared bool
	count  *count // valid as long as rows has cleared no counts since
	clears uint64
}

// account is what one rule did.
type account struct {
	number  int // of the rule
	rule    *rules.Rule
	meter   *rules.Meter
	refused uint64 // how many events the rule refused
}

// meterBook is what one meter counted.
type meterBook struct {
	tally  *tuning.Tally
	names  names
	wide   networks
	learns bool // a rule of it learns its threshold by days
}

func newLedger(c *Config) *ledger {
	set := c.Rules
	l := &ledger{rules: make(map[string]*account), rows: newRows(c.MaxRows), excused: newRows(c.MaxRows), own: c.Own, protected: c.Protected, onCrossed: c.Crossed, onLifted: c.Lifted}
	for i := range set.Rules {
		rule := &set.Rules[i]
		a := &account{number: i, rule: rule, meter: &set.Meters[rule.Meter]}
		l.rules[rule.Name], l.order = a, append(l.order, a)
	}
	for i := range set.Meters {
		m := &set.Meters[i]
		learns := slices.ContainsFunc(m.Rules, func(i int) bool { return set.Rules[i].Learned })
		l.meters = append(l.meters, meterBook{tally: tuning.NewTally(tuning.ConfigOf(m)), names: names{meter: m}, learns: learns})
	}
	return l
}

// counted records the count at one event.
func (l *ledger) counted(meter int, event *edgeguard.Event, count, cost uint32) {
	book := &l.meters[meter]
	book.tally.Event(book.names.meter.TopCount(count))
	if book.learns {
		book.tally.NoteDay(event.Time, book.names.meter.TopCount(count))
	}
	book.names.remember(event, count, cost)
}

// decided records the verdict of an event. The run's own list protects no
// address, so that protected ones are counted and shown; their refusals are
// undone here.
func (l *ledger) decided(v *edgeguard.Verdict, addr netip.Addr) {
	if v.Action != edgeguard.ActionDeny {
		return
	}
	of := l.refusal(v.Rule, addr)
	if of.spared {
		l.protectedRefusals++
		return
	}
	a := of.by
	a.refused++
	of.count.refused++
	if addr.Is6() {
		for _, w := range a.rule.Widths {
			network, _ := addr.Prefix(int(w.Bits)) // no error: addr is IPv6
			l.rows.refused(countKey{a.number, network})
		}
	}
}

// refusal returns what an event of addr that the rule refused counts for.
func (l *ledger) refusal(rule string, addr netip.Addr) *refusal {
	b := addr.As16()
	h := (binary.LittleEndian.Uint64(b[:8]) ^ binary.LittleEndian.Uint64(b[8:])) * 0x9e3779b97f4a7c15
	of := &l.recent[h>>(64-recentBits)]
	if of.addr == addr && of.by.rule.Name == rule && of.clears == l.rows.clears {
		return of
	}
	*of = refusal{addr: addr, by: l.rules[rule]}
	if _, of.spared = l.protected.Why(netip.PrefixFrom(addr, addr.BitLen())); !of.spared {
		of.count = l.rows.counting(countKey{of.by.number, of.by.meter.Key(addr, "").Prefix})
	}
	of.clears = l.rows.clears // after counting, which may clear
	return of
}

// subtractProtected subtracts the refusals of protected addresses from the
// totals.
func (l *ledger) subtractProtected(s *detector.Stats) {
	s.Denied -= l.protectedRefusals
	s.Passed += l.protectedRefusals
}

// crossed records a crossing and passes it on. One of a protected key is an
// alarm.
func (l *ledger) crossed(c edgeguard.Crossing) {
	why, spared := l.protected.Why(c.Key.Prefix)
	if spared {
		c.Action, c.Until, c.Stands = edgeguard.ActionAlarm, time.Time{}, ""
	}
	if l.onCrossed != nil {
		l.onCrossed(c)
	}
	rows := l.rows
	if c.Excused {
		rows = l.excused
	}
	o := rows.rowOf(l.rowOf(c.Rule, c.Key), &c)
	if o.Protected = why.Reason; !spared {
		o.FrontDoor = c.FrontDoor
	}
	o.Last = c.Time
	o.Crossings++
	if o.Action = max(o.Action, c.Action); c.Stands != "" {
		o.Action = edgeguard.ActionBlock // another rule's block was in force already
	}
	o.Peak = max(o.Peak, c.Count)
}

// rowOf returns the key of a row.
func (l *ledger) rowOf(rule string, key edgeguard.Key) rowKey {
	k := rowKey{rule: l.rules[rule].number, prefix: key.Prefix}
	if key.With != "" {
		k.with = shard.Fingerprint(key.With, !key.Prefix.IsValid())
	}
	return k
}
