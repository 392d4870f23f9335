package detector

import (
	"math"
	"time"
)

const (
	// grace is how many seconds a source has to complete its handshake: two
	// retransmissions of a lost SYN take three.
	grace = 3
	// quiet is how many seconds below half of what began an incident end it, so
	// that a flood in waves is one.
	quiet = 60
	// leastTimes is the least that a multiple of the usual comes to: ten times
	// nearly nothing is no flood.
	leastTimes = 100
	// span is the seconds that the usual is an average of, and learning how many
	// of them must have passed before it is used.
	span, learning = 600, 300
	// slower is by how much slower an incident changes what is usual: a lasting
	// change becomes usual after some hours, and a flood of minutes does not.
	slower = 10
)

// place returns where a second's number is kept.
func place(second int64) int64 {
	n := second % (grace + 1)
	if n < 0 { // before 1970
		n += grace + 1
	}
	return n
}

// advance moves to a second, and judges those that lie more than grace before it.
// After a gap it judges what is pending and steps over the rest.
func (w *FloodWatch) advance(to int64) {
	for steps := 0; w.second < to; steps++ {
		if steps > grace && !w.lasting {
			w.usual.idle(to - w.second)
			w.second = to
			return
		}
		w.second++
		n := &w.pending[place(w.second)]
		w.judgeSecond(w.second-grace-1, *n)
		*n = 0
	}
}

// judgeSecond decides by how many fresh sources a second had that completed nothing.
func (w *FloodWatch) judgeSecond(second int64, n uint32) {
	w.fresh += uint64(n)
	limit := w.limit()
	switch {
	case !w.lasting && float64(n) < limit:
		w.usual.learn(n)
		return
	case !w.lasting:
		w.lasting, w.last = true, second
		w.current = Incident{Begin: time.Unix(second, 0).UTC()}
		w.floods++
	}
	w.usual.drift(n)
	w.current.Sources += uint64(n)
	if n > w.current.Peak {
		w.current.Peak, w.current.PeakAt = n, time.Unix(second, 0).UTC()
	}
	if 2*float64(n) >= limit {
		w.last = second
	} else if second-w.last >= quiet {
		w.end()
	}
}

// end keeps the incident that has ended.
func (w *FloodWatch) end() {
	w.lasting, w.current.End = false, time.Unix(w.last+1, 0).UTC()
	if len(w.ended) < mostEnded {
		w.ended = append(w.ended, w.current)
	}
	w.current = Incident{}
}

// limit returns how many fresh sources a second begin an incident.
func (w *FloodWatch) limit() float64 {
	limit := math.Inf(1)
	if w.config.Sources > 0 {
		limit = float64(w.config.Sources)
	}
	if w.config.Times > 0 && w.usual.known() {
		limit = min(limit, max(leastTimes, float64(w.config.Times)*w.usual.mean))
	}
	return limit
}

// average is what is usual: the mean of the seconds learned, of the last ten
// minutes nearly.
type average struct {
	mean    float64
	seconds int64 // learned, up to span
}

func (a *average) known() bool { return a.seconds >= learning }

func (a *average) learn(n uint32) {
	a.seconds = min(a.seconds+1, span)
	a.mean += (float64(n) - a.mean) / float64(a.seconds)
}

func (a *average) drift(n uint32) { a.mean += (float64(n) - a.mean) / (span * slower) }

// idle learns so many seconds without a source.
func (a *average) idle(seconds int64) {
	for ; seconds > 0 && a.seconds < span; seconds-- {
		a.learn(0)
	}
	a.mean *= math.Pow(1-1.0/span, float64(seconds))
}
