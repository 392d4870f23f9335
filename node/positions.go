package node

import (
	"maps"
	"slices"
	"sync"

	"edgeguard/config"
	"edgeguard/node/pipeline"
	"edgeguard/node/supervisor"
	"edgeguard/sensor/accesslog"
)

// positions is how far the followed logs were read. Safe for concurrent use.
type positions struct {
	pipeline *pipeline.Pipeline
	logs     *supervisor.Group[*logSource]

	mu sync.Mutex       // guards of
	of map[string]place // by file or pattern, also of logs that have just ended
}

// place is how far a log was read, restored by a process before this one.
type place struct {
	accesslog.Position
	restored bool
}

func (p *positions) get(file string) (at accesslog.Position, restored bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.of[file]
	return found.Position, found.restored
}

// matching returns the positions of a pattern's files.
func (p *positions) matching(s *logSource) map[string]accesslog.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := make(map[string]accesslog.Position)
	for file, at := range p.of {
		if file != s.config.File && s.owns(file) {
			found[file] = at.Position
		}
	}
	return found
}

// replace sets the positions of a log that has ended, which are all that there are of it.
func (p *positions) replace(s *logSource, all map[string]accesslog.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.of, func(file string, _ place) bool { return s.owns(file) })
	for file, at := range all {
		p.put(file, place{at, false})
	}
}

// restore sets the position that a process before this one saved.
func (p *positions) restore(file string, at accesslog.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(file, place{at, true})
}

func (p *positions) put(file string, at place) {
	if p.of == nil {
		p.of = make(map[string]place)
	}
	p.of[file] = at
}

// all returns the positions of the config's logs; of a log that is followed
// now, the present one.
func (p *positions) all() map[string]accesslog.Position {
	known := make(map[string]accesslog.Position)
	var now []*logSource // whose positions are all that there are
	for _, s := range p.logs.All() {
		if f := s.follower.Load(); f != nil {
			maps.Copy(known, (*f).Positions())
			now = append(now, s)
		}
	}
	logs := p.pipeline.Current().Config.Sensors.AccessLog
	p.mu.Lock()
	defer p.mu.Unlock()
	for file, at := range p.of {
		if !slices.ContainsFunc(now, func(s *logSource) bool { return s.owns(file) }) &&
			slices.ContainsFunc(logs, func(l config.AccessLog) bool { return l.Reads(file) }) {
			known[file] = at.Position
		}
	}
	for i := range logs {
		if _, found := known[logs[i].File]; !found && logs[i].File != "" {
			known[logs[i].File] = accesslog.Position{}
		}
	}
	return known
}

// known reports whether every followed log has a position to go on from.
func (p *positions) known() bool {
	for _, at := range p.all() {
		if at.Seen.IsZero() {
			return false
		}
	}
	return true
}
