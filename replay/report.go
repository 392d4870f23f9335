package replay

import (
	"strconv"
	"time"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning"
)

// Report is what a replay found.
type Report struct {
	// Stats counts the events and the verdicts.
	detector.Stats
	// First and Last are the times of the oldest and the newest event.
	First, Last time.Time
	// Evicted is how many keys the tables forgot because the memory was full;
	// then counts may have been higher than reported.
	Evicted uint64
	// BlocksEvicted is how many blocks made room for others, as they would on a
	// live node: in a fleet, on the node where they were most.
	BlocksEvicted uint64
	// Keys counts the keys that crossed, and RowsDropped is how many offenders are
	// not among Rules' since there were more than Config.MaxRows. A key that crossed
	// again after it was dropped has a row that begins there.
	Keys        Keys
	RowsDropped uint64
	Rules       []RuleReport
	// FrontDoor says whose addresses the clients are ([frontdoor.Sources.Shown]), of one node's at least, where the log knows
	// only what stands before the site, and the config names no clients.
	FrontDoor string
	// Floods are the floods of fresh sources that can be forged, in their order.
	Floods []detector.Incident
	// Outages are the times in which the site failed, in their order. For OutageLate answers,
	// which came more than a minute late, the outage watch was off: sorted it is exact.
	Outages    []SiteFailure
	OutageLate uint64
}

// RuleReport is what a replay found of one rule.
type RuleReport struct {
	Rule  *rules.Rule
	Meter *rules.Meter
	// Tally has the distribution of the peaks of all keys and, if the replay
	// was set to Tune, of the counts at each event. Rules that share a meter
	// share it.
	Tally *tuning.Tally
	// Candidates are what the rule's candidates would have done.
	Candidates []detector.Tally
	// Offenders are the keys that crossed the rule's limit, by the time of
	// their first crossing: of all rules at most Config.MaxRows.
	Offenders []Offender
	// Refused is how many events the rule refused.
	Refused uint64
	// Excused are the keys that would have passed the rule's limit while the site failed, and
	// did not: nothing came of it. ExcusedEvents is how many events were not counted, of all
	// rules that share the meter.
	Excused       []Offender
	ExcusedEvents uint64
	// Wide has, for each size of IPv6 network that the rule counts around its
	// keys, the network with the greatest count; Peak 0 where there was none.
	Wide []WidePeak
}

// WidePeak is the greatest count of any network of one size.
type WidePeak struct {
	rules.Width
	Key  edgeguard.Key
	Peak uint32
}

// report returns the results.
func (r *run) report() *Report {
	r.detector.TellWaiting(r.now)
	rep := &Report{Stats: r.detector.Stats(), First: r.first, Last: r.now,
		BlocksEvicted: r.list.Stats().Evicted, Keys: r.ledger.rows.countKeys(), RowsDropped: r.ledger.rows.dropped, Floods: r.flood.Finish()}
	rep.Events, rep.Passed = rep.Events-r.uncounted, rep.Passed-min(r.uncounted, rep.Passed)
	r.ledger.subtractProtected(&rep.Stats)
	for i := range r.config.Rules.Meters {
		rep.Evicted += r.collect(i)
		rep.Evicted += r.ledger.meters[i].wide.takePeaks(r.detector, &r.config.Rules.Meters[i], r.now, func(e shard.Entry) { r.ledger.peaked(i, e) })
	}
	if len(r.config.Clients) == 0 {
		rep.FrontDoor = r.doors.Shown()
	}
	rep.Outages = r.ledger.outages
	_, rep.OutageLate = r.detector.Outages()
	for i, a := range r.ledger.order {
		rep.Rules = append(rep.Rules, RuleReport{
			Rule: a.rule, Meter: a.meter, Tally: r.ledger.meters[a.rule.Meter].tally,
			Candidates: r.detector.Tallies(i), Offenders: r.ledger.rows.sorted(i), Refused: a.refused,
			Wide: r.ledger.widePeaks(a.rule),
		})
		r.ledger.addExcused(i, r.detector, &rep.Rules[i])
	}
	return rep
}

// collect takes the peaks of all keys of meter i from its tables, and returns
// how many keys they evicted.
func (r *run) collect(i int) (evicted uint64) {
	meter := &r.config.Rules.Meters[i]
	for _, table := range r.detector.Tables() {
		if table.Meter != meter || table.Wide > 0 {
			continue
		}
		evicted += table.Stats().Evicted
		table.EachEntry(uint32(max(0, r.now.Unix()))/meter.Width, func(e shard.Entry) bool {
			r.ledger.notePeak(i, e)
			return true
		})
	}
	return evicted
}

// keyOf returns an entry's key with its attributes, or with their fingerprint if
// they were not remembered.
func (n *names) keyOf(e shard.Entry) edgeguard.Key {
	key := e.Key
	if len(n.meter.Attributes) == 0 {
		return key
	}
	if name, ok := n.known[e.With]; ok {
		key.With = name.text
	} else {
		key.With = "#" + strconv.FormatUint(e.With, 16)
	}
	return key
}

// notePeak records the peak of a key of meter i, and passes it to the offenders.
func (l *ledger) notePeak(meter int, e shard.Entry) {
	book := &l.meters[meter]
	e.Peak = book.names.meter.TopCount(e.Peak)
	book.tally.RecordPeak(book.names.keyOf(e), e.Peak)
	l.peaked(meter, e)
}
