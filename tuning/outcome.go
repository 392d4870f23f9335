package tuning

// LimitOf returns the limit of a threshold: the guard's arithmetic, which
// belongs to the rules. It never falls as the threshold rises. nil stands for
// no guard: the limit is the threshold.
type LimitOf func(threshold uint32) uint32

func (f LimitOf) limitOf(threshold uint32) uint32 {
	if f == nil {
		return threshold
	}
	return f(threshold)
}

// Outcome is what one threshold would have done.
type Outcome struct {
	Threshold, Limit uint32
	// Keys is how many keys went over the limit; Events how many events came
	// while their key was over it. (A rule that blocks refuses more: all that
	// comes until the block has ended.)
	Keys, Events uint64
	// KeyShare and EventShare are the same as parts of all, 0 to 1.
	KeyShare, EventShare float64
	// Exact says that Keys is exact, and Events too in a live tally.
	Exact bool
}

// Outcome returns what a threshold would have done. Keys is exact if the limit
// is below 64 or fewer keys than the tally's Top went over it; Events is
// exact below 64. Beyond, both are within 1/32 of the limit.
func (t *Tally) Outcome(threshold uint32, limitOf LimitOf) Outcome {
	o := Outcome{Threshold: threshold, Limit: limitOf.limitOf(threshold)}
	complete := t.Top.complete(o.Limit)
	o.Exact = complete || o.Limit < exactBelow
	if complete {
		o.Keys = t.Top.above(o.Limit)
	} else {
		o.Keys = t.Peaks.Above(o.Limit)
	}
	all := t.Events.Total()
	switch {
	case !t.live:
		o.Events = t.Events.Above(o.Limit)
	case complete:
		o.Events, all = t.Top.excess(o.Limit), t.Peaks.Sum()
	default:
		o.Events, all = t.Peaks.Excess(o.Limit), t.Peaks.Sum()
	}
	o.KeyShare = share(o.Keys, t.Peaks.Total())
	o.EventShare = share(o.Events, all)
	return o
}

// Outcomes returns the Outcome of several thresholds, in their order; with none given,
// for a [Ladder] up to the highest peak.
func (t *Tally) Outcomes(thresholds []uint32, limitOf LimitOf) []Outcome {
	if len(thresholds) == 0 {
		thresholds = Ladder(t.Peaks.Max(), t.Unit.Each)
	}
	outcomes := make([]Outcome, len(thresholds))
	for i, threshold := range thresholds {
		outcomes[i] = t.Outcome(threshold, limitOf)
	}
	return outcomes
}

func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
