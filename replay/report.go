package replay

import (
	"cmp"
	"slices"
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
	Rules   []RuleReport
}

// RuleReport is what a replay found of one rule.
type RuleReport struct {
	Rule  *rules.Rule
	Meter *rules.Meter
	// Tally has the distribution of the peaks of all keys and, if the replay
	// was told to Tune, of the counts at each event. Rules that share a meter
	// share it.
	Tally *tuning.Tally
	// Candidates are what the rule's candidates would have done.
	Candidates []detector.Tally
	// Offenders are the keys that crossed the rule's limit, by the time of
	// their first crossing.
	Offenders []Offender
	// Refused is how many events the rule refused.
	Refused uint64
}

// report sums up.
func (r *run) report() *Report {
	rep := &Report{Stats: r.detector.Stats(), First: r.first, Last: r.now}
	for i := range r.config.Rules.Meters {
		rep.Evicted += r.collect(i)
	}
	for i, a := range r.ledger.order {
		rep.Rules = append(rep.Rules, RuleReport{
			Rule: a.rule, Meter: a.meter, Tally: r.ledger.meters[a.rule.Meter].tally,
			Candidates: r.detector.Tallies(i), Offenders: a.sorted(), Refused: a.refused,
		})
	}
	return rep
}

// collect takes the peaks of all keys of meter i out of its tables, and
// returns how many keys they had to forget.
func (r *run) collect(i int) (evicted uint64) {
	meter := &r.config.Rules.Meters[i]
	for _, table := range r.detector.Tables() {
		if table.Meter != meter {
			continue
		}
		evicted += table.Stats().Evicted
		table.Each(uint32(max(0, r.now.Unix()))/meter.Width, func(e shard.Entry) bool {
			r.ledger.key(i, e)
			return true
		})
	}
	return evicted
}

// of gives an entry's key with its attributes, or with their fingerprint where
// they were not remembered.
func (n *names) of(e shard.Entry) edgeguard.Key {
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

// key takes in how high a key of meter i went, and tells the offenders among
// them.
func (l *ledger) key(meter int, e shard.Entry) {
	book := &l.meters[meter]
	book.tally.Key(book.names.of(e), e.Count, e.Peak)
	for _, i := range book.names.meter.Rules {
		if o := l.order[i].offenders[offenderKey{e.Key.Prefix, e.With}]; o != nil {
			o.Peak = max(o.Peak, e.Peak)
		}
	}
}

// sorted gives the offenders in the order of their first crossing.
func (a *account) sorted() []Offender {
	out := make([]Offender, 0, len(a.offenders))
	for _, o := range a.offenders {
		o.Refused = a.prefixes[a.meter.Key(o.Key.Prefix.Addr(), "").Prefix]
		out = append(out, *o)
	}
	slices.SortFunc(out, func(x, y Offender) int {
		return cmp.Or(x.First.Compare(y.First), cmp.Compare(x.Key.String(), y.Key.String()))
	})
	return out
}
