package peers

import "time"

const (
	// stall is a time without a read that is longer than reads are apart, also those that
	// find nothing.
	stall = 100 * time.Millisecond
	// room is less than the kernel keeps for a connection: a HAProxy of which so
	// little was read did not wait for room, and has sent all that it counted.
	room = 96 << 10
	// fastest and slowest bound how long a HAProxy that always has more to send may
	// take to catch up after a gap, which is ten times the gap.
	fastest = time.Second
	slowest = 10 * time.Second
	// longestDump is how long a resync may take.
	longestDump = time.Minute
)

// pace says what time what is read has. HAProxy sends without a time, in the order in
// which keys changed: what comes first after a gap was counted in the gap, and what
// comes then, too, until HAProxy has caught up.
type pace struct {
	last    time.Time // of the last read
	stamp   time.Time // what was read last has this time
	held    time.Time // when a gap began that HAProxy has not caught up with; zero: none
	release time.Time // when it is taken to have caught up
}

func (p *pace) round(now time.Time, bytes int, dump bool) {
	p.stamp = p.last
	switch gap := now.Sub(p.last); {
	case gap > stall:
		if p.held.IsZero() {
			p.held = p.last
		}
		p.stamp, p.release = p.held, now.Add(min(max(10*gap, fastest), slowest))
	case !p.held.IsZero():
		p.stamp = p.held
		if !dump && (bytes < room || !now.Before(p.release)) {
			p.held = time.Time{}
		}
	}
	p.last = now
}

// readUpTo returns the time before which all was read.
func (p *pace) readUpTo() time.Time {
	if p.held.IsZero() {
		return p.last
	}
	return p.held
}
