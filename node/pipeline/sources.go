package pipeline

import (
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"edgeguard/detector/outage"
	"edgeguard/frontdoor"
)

// SourceNumbers are numbers of sources by name, in the order in which they came; a reload keeps
// them. It is safe for concurrent use.
type SourceNumbers struct {
	mu    sync.Mutex // guards names
	names []string
}

// number returns that of a source, from 1: questions have none. Those beyond the greatest share it.
func (s *SourceNumbers) number(name string) uint8 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.names, name)
	if i < 0 {
		i = len(s.names)
		s.names = append(s.names, name)
	}
	return uint8(min(i+1, math.MaxUint8))
}

// Name returns the name of the first source of a number; empty for none.
func (s *SourceNumbers) Name(number uint8) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := int(number) - 1; i >= 0 && i < len(s.names) {
		return s.names[i]
	}
	return ""
}

// SiteState is whether a part of the site fails. Its times are local.
type SiteState struct {
	Name string // one of own_hosts, or a source
	Host bool   // it is one of own_hosts
	outage.State
}

// Site returns the parts of the site of which something is known, and how many answers came
// too late to say something.
func (p *Pipeline) Site() (all []SiteState, late uint64) {
	g := p.Current()
	outages, late := g.Detector.Outages()
	for i := range outages {
		part := SiteState{State: outages[i].State}
		if of := outages[i].Part; of.Host > 0 {
			part.Name, part.Host = g.own.Name(of.Host-1), true
		} else {
			part.Name = p.Sources.Name(of.Source)
		}
		all = append(all, part)
	}
	return all, late
}

// Fails reports whether a part of the site fails.
func (p *Pipeline) Fails() bool { return p.Current().Detector.Fails() }

// all returns the names, each with its number.
func (s *SourceNumbers) all() iter.Seq2[uint8, string] {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Clone(s.names[:min(len(s.names), math.MaxUint8)])
	return func(yield func(uint8, string) bool) {
		for i, name := range names {
			if !yield(uint8(i+1), name) {
				return
			}
		}
	}
}

// Public returns when each source last showed a client of the Internet, local, for those that did.
func (p *Pipeline) Public() iter.Seq2[string, time.Time] {
	return func(yield func(string, time.Time) bool) {
		for number, name := range p.Sources.all() {
			if sec := p.made.Doors.Public(number); sec > 0 && !yield(name, time.Unix(int64(sec), 0)) {
				return
			}
		}
	}
}

// FrontDoors returns the sources that show only what stands before the site, with what that is
// ([frontdoor.Sources.ShownBy]); none where the config or an operator names the clients.
func (p *Pipeline) FrontDoors(now time.Time) map[string]string {
	doors := make(map[string]string)
	if named, _ := p.made.Doors.Clients(); len(named)+len(p.Current().Config.Clients) > 0 {
		return doors
	}
	for number, name := range p.Sources.all() {
		if door := p.made.Doors.ShownBy(number, uint32(min(max(now.Unix(), 0), math.MaxUint32))); door != "" {
			doors[name] = door
		}
	}
	return doors
}

// RestorePublic sets when a source last showed a client of the Internet.
func (p *Pipeline) RestorePublic(name string, at time.Time) {
	p.made.Doors.Restore(p.Sources.number(name), uint32(min(max(at.Unix(), 0), math.MaxUint32)))
}

// Doors returns what the sources have shown; nil where nobody is spared as a front door.
func (p *Pipeline) Doors() *frontdoor.Sources { return p.made.Doors }
