package haproxypeers

import (
	"cmp"
	"slices"
	"time"
)

// Stats is the figures of a server. The counters count up from its start.
type Stats struct {
	HAProxies []HAProxy // connected now, by name
	// Users are connections of other users' processes or without a certificate,
	// Hellos are refused hellos, and Full those beyond MaxHAProxies.
	Users, Hellos, Full uint64
	// Refused is why the last hello was refused; empty after one that was accepted.
	Refused string
	// Updates, Counted and Taught are the sums over all connections, ended ones too.
	Updates, Counted, Taught uint64
}

// HAProxy is the figures of one connection.
type HAProxy struct {
	Name        string
	PID         int
	Since, Last time.Time // connected; the last message
	Updates     uint64    // entries that it sent
	Counted     uint64    // what rules counted of them
	Taught      uint64    // entries that it was sent
	Learned     bool      // its tables as they were when it connected are known
	// Wrong is what keeps its tables from being used, a sentence each.
	Wrong []string
}

// Stats returns the figures.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Stats{Users: s.refused.users, Hellos: s.refused.hellos, Full: s.refused.full, Refused: s.refused.last}
	out.add(&s.past)
	for _, one := range s.sessions {
		f := one.stats()
		out.HAProxies = append(out.HAProxies, f)
		out.add(&f)
	}
	slices.SortFunc(out.HAProxies, func(a, b HAProxy) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (s *Stats) add(h *HAProxy) {
	s.Updates += h.Updates
	s.Counted += h.Counted
	s.Taught += h.Taught
}

func (s *session) stats() HAProxy {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.figures
	out.Wrong = s.checks.wrong(&s.server.config)
	return out
}
