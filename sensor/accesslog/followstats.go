package accesslog

import "time"

// FollowStats says how far a follower is.
type FollowStats struct {
	LiveStats
	// Files is how many files of a pattern are followed.
	Files int
	// Behind is how many bytes are not decided yet; BehindFor how old the last
	// decided event is while there are any.
	Behind    int64
	BehindFor time.Duration
	// Rotations counts the files that took the place of another, Truncations how
	// often a file was emptied or rewritten in place.
	Rotations, Truncations uint64
	// Lost is how many bytes are known to be lost. They were in a file when it was
	// last looked at, and neither there nor in a copy when they were to be read; or
	// the end of their line never came. What a server that appends (O_APPEND: nginx,
	// Apache) writes between a rotation's copy and its emptying leaves no trace, so
	// each Truncation may have cost more. For a writer that does not append, Lost is
	// complete.
	Lost uint64
	// Gaps counts the files that could not be read (again). The one of the saved
	// position was gone at a start (deleted or compressed), or a rotated one was gone
	// before its turn, or may not be read. What it had is lost.
	Gaps uint64
}

// Stats says how far the follower is.
func (f *Follower) Stats() FollowStats {
	live := f.in.read()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.LiveStats = live
	for _, t := range f.tails {
		if info, err := t.file.Stat(); err == nil && !t.finished {
			s.Behind += max(0, info.Size()-t.mark.offset)
		}
	}
	if s.Behind > 0 {
		s.BehindFor = live.Age
	}
	return s
}

// Position says how far the follower is; see [FollowConfig] for how a snapshot
// takes it together with the counts. It stays after Run has ended.
func (f *Follower) Position() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := Position{Seen: f.seen.Round(0)}
	for _, t := range f.tails {
		if !t.finished {
			p.Files = append(p.Files, t.place())
		}
	}
	p.Files = append(p.Files, f.saved...)
	if !f.owed.IsZero() && f.owed.Before(p.Seen) {
		p.Seen = f.owed.Round(0)
		p.Files = append(f.readSince(p.Seen), p.Files...)
	}
	return p
}

// Positions returns the position under the file's name.
func (f *Follower) Positions() map[string]Position {
	return map[string]Position{f.config.File: f.Position()}
}

// readSince returns the places of closed files that would look new to who looks
// for what was written since then.
func (f *Follower) readSince(then time.Time) (places []Place) {
	for _, c := range f.closed {
		if !c.over && !c.info.ModTime().Before(then.Add(-clockGrain)) {
			places = append(places, c.place)
		}
	}
	return places
}
