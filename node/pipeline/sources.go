package pipeline

import (
	"math"
	"slices"
	"sync"

	"edgeguard/detector/outage"
)

// SourceNumbers are numbers of sources by name, in the order in which they came; a reload keeps
// them. It is safe for concurrent use.
type SourceNumbers struct {
	mu    sync.Mutex // guards names
	names []string
}

// number returns that of a source; those beyond the greatest share it.
func (s *SourceNumbers) number(name string) uint8 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.names, name)
	if i < 0 {
		i = len(s.names)
		s.names = append(s.names, name)
	}
	return uint8(min(i, math.MaxUint8))
}

// Name returns the name of the first source of a number; empty for none.
func (s *SourceNumbers) Name(number uint8) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(number) < len(s.names) {
		return s.names[number]
	}
	return ""
}

// SiteState is whether a part of the site fails. Its times are local.
type SiteState struct {
	Name string // one of own_hosts, or a source
	outage.State
}

// Site returns the parts of the site of which something is known, and how many answers came
// too late to say something.
func (p *Pipeline) Site() (all []SiteState, late uint64) {
	g := p.Current()
	outages, late := g.Detector.Outages()
	for i := range outages {
		name := ""
		if o := &outages[i]; o.Part.Host > 0 {
			name = g.own.Name(o.Part.Host - 1)
		} else {
			name = p.Sources.Name(o.Part.Source)
		}
		all = append(all, SiteState{name, outages[i].State})
	}
	return all, late
}

// Fails reports whether a part of the site fails.
func (p *Pipeline) Fails() bool { return p.Current().Detector.Fails() }
