package fleet

import "time"

// When a node asks its fleet for MACs that it lacks, and when another node answers with a full
// read of the list. A MAC that was removed past the functions shows in no digest and no
// version, so the nodes that have the record signed do not notice.

const (
	// every is the least time between two questions of a node, and between two
	// that it considers: whoever writes to Redis can ask constantly.
	every = time.Minute
	// most is how often a node asks after one join: it may lack what nobody has.
	most = 5
	// answering is how many of all nodes answer, by lot, and longest how long
	// after the question: a full read each is much in a large fleet.
	answering = 3
	longest   = 10 * time.Second
)

// MACAsks says when a node that has joined asks. The zero value never does. It is
// not safe for concurrent use.
type MACAsks struct {
	left int
	last time.Time
}

// Joined begins again: the node has read the whole list.
func (a *MACAsks) Joined() { a.left = most }

// AskDue reports whether to ask now, and counts it. lacking is how many records of
// the list have no valid MAC. Once none is lacking, it is over until the next
// join: what comes later comes by the stream, with its MAC if there is one.
func (a *MACAsks) AskDue(now time.Time, lacking int) bool {
	if lacking == 0 {
		a.left = 0
	}
	if a.left == 0 || now.Sub(a.last) < every {
		return false
	}
	a.left, a.last = a.left-1, now
	return true
}

// MACAnswers says when a node answers the questions of others. The zero value is
// ready. It is not safe for concurrent use.
type MACAnswers struct {
	seen int64     // the newest question that needs no answer, or has its lot
	next time.Time // when another question is considered
	due  time.Time // when to answer; zero: not
}

// NoteAnswered says that this question needs no answer of this node: it was there before
// its last full read, or is its own.
func (a *MACAnswers) NoteAnswered(question int64) { a.seen = question }

// AnswerDue reports whether to answer now: by a full read, which publishes what Redis
// lacks. question is another number after each question. draw is a random number
// from 0 to 1. Between two answers there is a minute at least.
func (a *MACAnswers) AnswerDue(now time.Time, question int64, nodes int, draw float64) bool {
	if question != a.seen && !now.Before(a.next) {
		a.seen, a.next = question, now.Add(every)
		if wait, drawn := lot(nodes, draw); drawn {
			a.due = now.Add(wait)
		}
	}
	if a.due.IsZero() || now.Before(a.due) {
		return false
	}
	a.due, a.next = time.Time{}, now.Add(every)
	return true
}

// lot returns whether one of so many nodes answers, and after which time.
func lot(nodes int, draw float64) (wait time.Duration, drawn bool) {
	chance := min(1, answering/float64(max(nodes, 1)))
	return time.Duration(draw / chance * float64(longest)), draw < chance
}
