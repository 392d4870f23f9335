package node

import (
	"sync"

	"edgeguard/node/pipeline"
	"edgeguard/node/supervisor"
	"edgeguard/sensor/accesslog"
)

// positions is how far the followed logs were read. Safe for concurrent use.
type positions struct {
	pipeline *pipeline.Pipeline
	logs     *supervisor.Group[*logSource]

	mu sync.Mutex       // guards of
	of map[string]place // by file, also of logs that have just ended
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

func (p *positions) set(file string, at accesslog.Position) { p.put(file, place{at, false}) }

// restore sets the position that a process before this one saved.
func (p *positions) restore(file string, at accesslog.Position) { p.put(file, place{at, true}) }

func (p *positions) put(file string, at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = make(map[string]place)
	}
	p.of[file] = at
}

// all returns the positions of the config's logs; of a log that is followed
// now, the present one.
func (p *positions) all() map[string]accesslog.Position {
	known := make(map[string]accesslog.Position)
	for _, l := range p.pipeline.Current().Config.Sensors.AccessLog {
		if l.File != "" {
			known[l.File], _ = p.get(l.File)
		}
	}
	for _, s := range p.logs.All() {
		if f := s.follower.Load(); f != nil {
			known[s.config.File] = f.Position()
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
