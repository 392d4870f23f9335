package haproxypeers

import (
	"time"

	"edgeguard/haproxy/peers"
)

// Counter counts what the table of one HAProxy has more than before. One goroutine calls
// it.
type Counter func(now time.Time, table string, increases []peers.Increase) peers.Outcome

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
		s.requests += s.requestsOf(s.increases[before:])
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
	out := s.counter(now, s.server.config.Table, s.increases)
	steps := uint64(0)
	for _, in := range s.increases {
		steps += uint64(in.N)
	}
	if !out.Known {
		out.LateSteps, out.Lost = steps, s.requests
	}
	counted := steps - min(steps, out.LateSteps)
	if counted > 0 {
		s.figures.LastCounted = now
	}
	s.figures.Counted += counted
	s.figures.Uncounted += steps - counted
	s.figures.Requests += s.requests - min(s.requests, out.Lost)
	s.figures.Late += out.Late
	s.requests, s.increases = 0, s.increases[:0]
}

// requestsOf returns how many requests made the increases of an entry. Where a column counts
// each request, they are its steps: HAProxy may send an entry between two steps that one
// request makes. Else they are the most steps of a column, since one request may be a step of
// each: so many at least.
func (s *session) requestsOf(increases []peers.Increase) (most uint64) {
	for _, in := range increases {
		switch every := s.server.config.Every; {
		case every == NoColumn:
			most = max(most, uint64(in.N))
		case every == in.Column:
			most = uint64(in.N)
		}
	}
	return most
}
