package spoe

import (
	"math"
	"time"

	"edgeguard"
	"edgeguard/haproxy/spop"
	"edgeguard/sensor/refusal"
)

// The variables that an answer sets. HAProxy puts the prefix of its spoe-agent before
// them.
const (
	varAction = "action"
	varRetry  = "retry_after" // seconds
	varRule   = "rule"

	actionPass = 0
	actionDeny = 1
)

// answer appends the answer to a NOTIFY.
func (s *Server) answer(out []byte, f spop.Frame, q *question, proxied bool) ([]byte, error) {
	if err := q.take(f); err != nil {
		return out, err
	}
	verdict := s.ask(q, proxied)
	ack := spop.BeginAck(out, f)
	if !s.asker.Refuses(&verdict) {
		ack.SetUint(varAction, actionPass)
		return ack.FrameBytes(), nil
	}
	ack.SetUint(varAction, actionDeny)
	ack.SetUint(varRetry, seconds(verdict.RetryAfter))
	ack.SetText(varRule, refusal.Visible(verdict.Rule))
	return ack.FrameBytes(), nil
}

// ask returns the verdict on a request.
func (s *Server) ask(q *question, proxied bool) edgeguard.Verdict {
	event := &q.event
	if !event.Addr.IsValid() {
		return s.asker.PassNoClient("a request has no argument src with a client's address, and was let through: see `edgeguard snippets haproxy-spoe`")
	}
	event.Proxied, event.Named = proxied, true
	s.asker.CountRequest(event)
	return s.asker.Judge(s.asker.Now(), event, s.asker.Decide)
}

// seconds returns a whole number of seconds, rounded up, at least 1.
func seconds(d time.Duration) uint32 {
	return uint32(min(max(1, (d+time.Second-1)/time.Second), math.MaxInt32))
}
