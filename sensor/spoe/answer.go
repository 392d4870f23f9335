package spoe

import (
	"fmt"
	"math"
	"net/netip"
	"runtime/debug"
	"time"

	"edgeguard"
	"edgeguard/haproxy/spop"
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
	if verdict.Action != edgeguard.ActionDeny {
		s.stats.passed.Add(1)
		ack.SetUint(varAction, actionPass)
		return ack.FrameBytes(), nil
	}
	s.stats.refused.Add(1)
	ack.SetUint(varAction, actionDeny)
	ack.SetUint(varRetry, seconds(verdict.RetryAfter))
	ack.SetText(varRule, visible(verdict.Rule))
	return ack.FrameBytes(), nil
}

// ask returns the verdict on a request.
func (s *Server) ask(q *question, proxied bool) edgeguard.Verdict {
	now := s.config.Now()
	event := &q.event
	if !event.Addr.IsValid() {
		s.stats.noClient.Add(1)
		s.uncounted(now, netip.Addr{}, edgeguard.NoClient)
		s.config.Alarm(alarmNoClient, "a request has no argument src with a client's address, and was let through: see `edgeguard snippets haproxy-spoe`")
		return edgeguard.Verdict{Reason: "no client address"}
	}
	event.Time, event.Proxied, event.Named = now, proxied, true
	if !s.config.LookUp {
		event.Kind, event.Verified = edgeguard.KindRequest, edgeguard.KindRequest
	}
	return s.decide(now, event)
}

// decide asks for the verdict at the instant now; a panic on the way is a pass.
func (s *Server) decide(now time.Time, event *edgeguard.Event) (verdict edgeguard.Verdict) {
	defer func() {
		if v := recover(); v != nil {
			verdict = edgeguard.Verdict{Reason: "panic"}
			s.stats.panics.Add(1)
			s.uncounted(now, event.Addr, edgeguard.DecisionFailed)
			s.config.Alarm(alarmPanic, fmt.Sprintf("the decision panicked, and the request was let through: %v\n%s", v, debug.Stack()))
		}
	}()
	return s.config.Decide(now, event)
}

// uncounted reports a request that is not counted, unless another sensor counts it.
func (s *Server) uncounted(now time.Time, addr netip.Addr, why edgeguard.Reason) {
	if !s.config.LookUp {
		s.config.Uncounted(now, []edgeguard.Uncounted{{Time: now, Addr: addr, Reason: why}})
	}
}

// seconds returns a whole number of seconds, rounded up, at least 1.
func seconds(d time.Duration) uint32 {
	return uint32(min(max(1, (d+time.Second-1)/time.Second), math.MaxInt32))
}

// visible replaces what a header line cannot hold: a rule's name may be in any script,
// and HAProxy writes it where its configuration says.
func visible(name string) string {
	clean := []byte(name)
	for i, c := range clean {
		if c < ' ' || c > '~' {
			clean[i] = '?'
		}
	}
	return string(clean)
}
