package crowdsec

import (
	"fmt"
	"time"
)

// Judgement is what is to be done with an answer.
type Judgement uint8

const (
	// Apply says that what is new is added, and what was deleted is lifted.
	Apply Judgement = iota
	// Replace says that the answer is all there is: what it lacks is lifted.
	Replace
	// AddOnly says that what is new is added and nothing is lifted, until the next answer agrees.
	AddOnly
)

const (
	// doubtful is the least number of blocks of which an answer that takes back half is doubted.
	doubtful = 100
	// refresh is how often the whole list is asked for. Changes get lost where two nodes use one
	// key, since a LAPI has one mark for it.
	refresh = time.Hour
)

// Follower decides how much of each answer is believed.
//
// A LAPI whose database fails in the middle of a list writes a list that is valid and short,
// and says nothing. So an answer that takes back more than half of what is held is believed when
// the next one, which is asked for whole, takes back as much. An operator who deletes all
// decisions sees them end one poll later; a new LAPI takes the place of another as late.
//
// It is not safe for concurrent use.
type Follower struct {
	behind  bool      // changes were missed, or may have been: the next answer is asked for whole
	doubted bool      // the last answer took back more than half
	whole   time.Time // when the last whole answer was asked for
}

// NewFollower returns one that has seen no answer yet.
func NewFollower() *Follower { return &Follower{behind: true} }

// Whole reports whether the next answer is to be asked for whole.
func (f *Follower) Whole(now time.Time) bool { return f.behind || now.Sub(f.whole) >= refresh }

// Missed is called when there was no answer, or one that cannot be used: a LAPI may believe that
// it was read, and not repeat its changes.
func (f *Follower) Missed() { f.behind = true }

// Judge decides about an answer, while so many blocks are held. The text, for a log, is empty
// unless it is in doubt.
func (f *Follower) Judge(a *Answer, held int) (Judgement, string) {
	left := held - len(a.Gone)
	if a.Whole {
		left = len(a.Add)
	}
	if !f.doubted && held >= doubtful && left*2 < held {
		f.behind, f.doubted = true, true
		return AddOnly, fmt.Sprintf("the answer takes back %d of %d decisions: nothing is unblocked before the next answer agrees", held-max(left, 0), held)
	}
	f.behind, f.doubted = len(a.Gone) > a.filter.Most, false // further ones were not kept
	if a.Whole {
		f.whole = a.now
		return Replace, ""
	}
	return Apply, ""
}
