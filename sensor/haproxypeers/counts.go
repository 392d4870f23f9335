package haproxypeers

import (
	"time"

	"edgeguard/haproxy/peers"
)

// define takes note of a table. It needs the lock.
func (s *session) define(_ time.Time, d *peers.Definition) {
	s.checks.define(d, &s.server.config)
}

// count takes note of an update. It needs the lock.
func (s *session) count(now time.Time) {
	s.figures.Updates++
	if table, value, ok := s.checks.taught(&s.update); ok {
		s.follower.Holds(now, table, s.update.Addr(), value)
	}
}

// resynced takes note that HAProxy has sent all its entries. It needs the lock.
func (s *session) resynced(time.Time) {
	s.checks.whole, s.figures.Learned = true, true
}

// deliver hands on what was counted, and wakes the writer for the answers. It needs
// the lock.
func (s *session) deliver(now time.Time) {
	s.figures.Last, s.last = now, now
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
