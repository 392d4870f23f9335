package fleet

import "time"

const (
	// each is the time between two whole lists for each node of the fleet: so
	// all nodes together read one a second, however many they are. least is
	// that of two heartbeats.
	each, least = time.Second, 2 * time.Second
	// wholeAgain is how long after a whole list the next one may be asked for out of
	// turn, and look how long after another run of this node's name came.
	wholeAgain, look = 30 * time.Second, 5 * time.Second
)

// rhythm is when the whole list is read.
type rhythm struct {
	version    int64 // how far the news were read; 0: the whole list is due
	last, next time.Time
}

// planNext plans the next whole list, by chance between half and one and a half of
// the usual time. draw is from 0 to 1.
func (r *rhythm) planNext(now time.Time, nodes int, draw float64) {
	every := max(time.Duration(nodes)*each, least)
	r.last, r.next = now, now.Add(time.Duration((0.5+draw)*float64(every)))
}

// Since returns the version of the nodes from which on news are to be asked for:
// 0 for the whole list, where that is due. now is the caller's clock.
func (r *Roster) Since(now time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !now.Before(r.rhythm.next) {
		return 0
	}
	return r.rhythm.version
}

// Version returns how far the news were read.
func (r *Roster) Version() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rhythm.version
}

// Rejoin has the whole list read next.
func (r *Roster) Rejoin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rhythm.version, r.rhythm.next = 0, time.Time{}
}

// ReadAllSoon has the whole list read within half a minute of the last one.
func (r *Roster) ReadAllSoon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rhythm.readBy(r.rhythm.last.Add(wholeAgain))
}

// fewer brings the next whole list forward where so many nodes are left: it may
// have been planned for many more, whose heartbeats somebody else wrote.
func (r *rhythm) fewer(nodes int) {
	r.readBy(r.last.Add(max(2*time.Duration(nodes)*each, wholeAgain)))
}

func (r *rhythm) readBy(at time.Time) {
	if at.Before(r.next) {
		r.next = at
	}
}
