package haproxypeers

import (
	"cmp"
	"slices"

	"edgeguard/haproxy"
)

// Stats is the figures of a server.
type Stats struct {
	haproxy.ListenerFigures
	// Hello is why the last hello was refused; empty after one that was accepted.
	Hello string
}

// Stats returns the figures.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.past
	for _, one := range s.sessions {
		f := one.stats()
		out.HAProxies = append(out.HAProxies, f)
		add(&out.ListenerFigures, &f)
	}
	slices.SortFunc(out.HAProxies, func(a, b haproxy.LinkFigures) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// add adds the figures of a connection to those of its listener.
func add(l *haproxy.ListenerFigures, h *haproxy.LinkFigures) {
	l.Updates += h.Updates
	l.Counted += h.Counted
	l.Uncounted += h.Uncounted
	l.Late += h.Late
	l.Requests += h.Requests
	l.Taught += h.Taught
	if l.LastCounted.Before(h.LastCounted) {
		l.LastCounted = h.LastCounted
	}
}

func (s *session) stats() haproxy.LinkFigures {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.figures
	out.Wrong = s.checks.wrong(&s.server.config)
	return out
}
