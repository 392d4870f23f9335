package haproxypeers

import (
	"time"

	"edgeguard/haproxy/peers"
)

// Counter counts what the table of one HAProxy has more than before. One goroutine calls
// it. late is how many requests were too old for a rule. known is false where other
// rules are in force than those that the table is of.
type Counter func(now time.Time, table string, increases []peers.Increase) (late uint64, known bool)

// define takes note of a table. It needs the lock.
func (s *session) define(d *peers.Definition) {
	s.checks.define(d, &s.server.config)
	if s.checks.counts == d {
		s.tally.Define(d)
	}
}

// take takes note of an update. It needs the lock.
func (s *session) take(now time.Time) {
	s.figures.Updates++
	s.out.acks[s.update.Table.ID] = s.update.ID
	if s.update.Table == s.checks.counts {
		before := len(s.increases)
		s.increases = s.tally.Add(&s.update, s.increases)
		s.requests += mostOf(s.increases[before:])
	} else if table, value, ok := s.checks.taught(&s.update); ok {
		s.follower.Holds(now, table, s.update.Addr(), value)
	}
}

// resynced takes note that HAProxy has sent all its entries; it says whether it is up
// to date itself. It needs the lock.
func (s *session) resynced(whole bool) {
	s.out.confirms = min(s.out.confirms+1, mostConfirms)
	learned := s.tally.Resynced(whole)
	s.checks.whole, s.figures.Learned = true, s.figures.Learned || learned
}

// count counts what was read. It needs the lock.
func (s *session) count(now time.Time) {
	if len(s.increases) == 0 {
		return
	}
	late, known := s.counter(now, s.server.config.Table, s.increases)
	if known {
		s.figures.Requests += s.requests
		s.figures.LastCounted = now
	}
	s.requests = 0
	for _, in := range s.increases {
		if known {
			s.figures.Counted += uint64(in.N)
		} else {
			s.figures.Uncounted += uint64(in.N)
		}
	}
	s.figures.Late += late
	s.increases = s.increases[:0]
}

// mostOf returns the most steps of a counter in an entry: so many requests made it at
// least, since one request may be a step of each counter.
func mostOf(increases []peers.Increase) (most uint64) {
	for _, in := range increases {
		most = max(most, uint64(in.N))
	}
	return most
}
