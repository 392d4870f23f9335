package clockguard

import "time"

// run is a stretch of local time on one course. It is never changed once
// readers can see it.
type run struct {
	mono   time.Duration // where it begins
	local  time.Time     // local time there
	left   time.Duration // what is to be slewed away from there on
	offset time.Duration // local time to the epoch's
	before *run          // the course until it begins; nil for the first

	// corrected is how much of the clock's correction was slewed before it
	// begins, and owed how much of left is still to be; the rest of left is
	// the wall clock's.
	corrected, owed time.Duration
}

// at returns the local time at mono: as much later as the monotonic clock says,
// and a little more or less while something is left to slew.
func (r *run) at(mono time.Duration) time.Time {
	elapsed := mono - r.mono
	if elapsed < 0 && r.before != nil {
		return r.before.at(mono)
	}
	if elapsed <= 0 {
		return r.local
	}
	return r.local.Add(elapsed + r.done(elapsed))
}

// done is what has been slewed of left so long after the begin.
func (r *run) done(elapsed time.Duration) time.Duration {
	most := slewed(max(elapsed, 0))
	return min(max(r.left, -most), most)
}

// correctedAt is how much of the correction is in the course at mono, not
// before its begin: what has been slewed goes to the correction first.
func (r *run) correctedAt(mono time.Duration) time.Duration {
	done := r.done(mono - r.mono)
	if r.owed < 0 {
		return r.corrected + min(max(done, r.owed), 0)
	}
	return r.corrected + max(min(done, r.owed), 0)
}

// next is the run after r, seen at mono: it joins r at begin. Where r has not
// begun by then, its course is kept, so that runs do not queue up; only the
// offset changes immediately. Left is the wall clock's part of what is to be
// slewed, owed the correction's.
func (r *run) next(mono, begin, left, more, owed time.Duration) *run {
	old := *r
	if mono < r.mono {
		old.offset += more
		return &old
	}
	old.before = nil
	return &run{
		mono: begin, local: r.at(begin), left: left + owed, offset: r.offset + more, before: &old,
		corrected: r.correctedAt(begin), owed: owed,
	}
}

// slewed is the most that is slewed in a span: SlewRate parts per million. It
// divides first, so that no span overflows.
func slewed(span time.Duration) time.Duration {
	const million = 1_000_000
	return span/million*SlewRate + span%million*SlewRate/million
}
