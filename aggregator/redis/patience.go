package redis

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// lastAnswer is when Redis last answered anything on this link. It is safe for concurrent use.
type lastAnswer struct{ at atomic.Int64 } // unix ns

func (l *lastAnswer) noteAnswer() { l.at.Store(time.Now().UnixNano()) }

// patience tells a Redis that is slow from one that hangs. It belongs to one loop.
type patience struct {
	*wire
	borne int // in a row
}

// mostBorne bounds how many exchanges in a row may be slow: one master of a Cluster may hang
// while another answers.
const mostBorne = 3

// bears reports whether an error only says that an exchange took too long, while Redis answers
// others. An exchange that began after Redis hung ends a whole timeout after the last answer:
// so a Redis that hangs is noticed as soon as without patience.
func (p *patience) bears(err error) bool {
	var timeout net.Error
	slow := err != nil && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout())
	if !slow {
		p.borne = 0
		return false
	}
	p.borne++
	answered := time.Unix(0, p.stats.answer.at.Load())
	return p.borne <= mostBorne && time.Since(answered) < p.config.Timeout*3/4
}
