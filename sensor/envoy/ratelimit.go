package envoy

import (
	"time"
)

// The messages of Envoy's rate limit service,
// envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit: descriptors of a request, and
// whether each of them is over its limit.

// LimitMethod is the path of the call.
const LimitMethod = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

// mostDescriptors bounds the descriptors of a call, and the entries of all of them.
const mostDescriptors = 1000

// LimitRequest is a call. Its texts point into the message.
type LimitRequest struct {
	Domain      string
	Descriptors []Descriptor
	Entries     []Entry // of all descriptors, one after the other
	Hits        uint64  // hits_addend; 0 if it is not set
}

// Descriptor is one description of the request.
type Descriptor struct {
	From, To int // its entries, in those of the request
	// Hits is its own hits_addend, which holds before the request's, also if it is 0; nothing
	// where Counts is false.
	Hits   uint64
	Counts bool
	// Returns says that the hits are to be given back (is_negative_hits).
	Returns bool
}

// Entry is a part of a descriptor.
type Entry struct{ Key, Value string }

// Of returns the entries of a descriptor.
func (r *LimitRequest) Of(d Descriptor) []Entry { return r.Entries[d.From:d.To] }

// Read reads a RateLimitRequest, and reports whether it can be read. One with more than
// [mostDescriptors] descriptors or entries cannot.
func (r *LimitRequest) Read(message []byte) bool {
	*r = LimitRequest{Descriptors: r.Descriptors[:0], Entries: r.Entries[:0]}
	m := fieldsOf(message)
	for m.Next() {
		switch m.Number() {
		case 1:
			m.Text(&r.Domain)
		case 2:
			if !r.descriptor(m.Message()) {
				return false
			}
		case 3:
			if hits, ok := m.Whole(); ok {
				r.Hits = uint64(uint32(hits))
			}
		}
	}
	return m.Good()
}

func (r *LimitRequest) descriptor(m fieldReader, isMessage bool) bool {
	if !isMessage {
		return true
	}
	d := Descriptor{From: len(r.Entries)}
	for m.Next() {
		good := true
		switch m.Number() {
		case 1:
			good = r.entry(m.Message())
		case 3:
			good = d.hits(m.Message())
		case 4:
			if negative, ok := m.Whole(); ok {
				d.Returns = negative != 0
			}
		}
		if !good {
			return false
		}
	}
	d.To = len(r.Entries)
	r.Descriptors = append(r.Descriptors, d)
	return m.Good() && len(r.Descriptors) <= mostDescriptors
}

// hits reads hits_addend, a UInt64Value.
func (d *Descriptor) hits(m fieldReader, isMessage bool) bool {
	d.Counts = d.Counts || isMessage
	for m.Next() {
		if hits, ok := m.Whole(); ok && m.Number() == 1 {
			d.Hits = hits
		}
	}
	return m.Good()
}

func (r *LimitRequest) entry(m fieldReader, isMessage bool) bool {
	if !isMessage {
		return true
	}
	var e Entry
	for m.Next() {
		switch m.Number() {
		case 1:
			m.Text(&e.Key)
		case 2:
			m.Text(&e.Value)
		}
	}
	r.Entries = append(r.Entries, e)
	return m.Good() && len(r.Entries) <= mostDescriptors
}

// The codes of an answer.
const (
	limitOK  = 1
	codeOver = 2
)

// LimitAnswer is what becomes of a request.
type LimitAnswer struct {
	Over     bool
	Statuses []LimitStatus // one for each descriptor, in order
	// Headers and Body are of the answer to the client, where it is refused.
	Headers []Entry
	Body    []byte
}

// LimitStatus is what became of a descriptor.
type LimitStatus struct {
	Over  bool
	Limit *Limit // nil where no rule has said anything of it
	Left  uint32 // events until the limit
	// Reset is how long until Left is as great as can be, or until one event passes.
	Reset time.Duration
}

// Limit is what a rule allows in a window.
type Limit struct {
	Rule   string
	Events uint32
	Window time.Duration
}

// Append appends the RateLimitResponse.
func (a *LimitAnswer) Append(out []byte) []byte {
	out = AppendWhole(out, 1, code(a.Over))
	for i := range a.Statuses {
		out = AppendMessage(out, 2, a.Statuses[i].append)
	}
	for _, h := range a.Headers {
		out = AppendMessage(out, 3, func(out []byte) []byte { // HeaderValue
			return AppendText(AppendText(out, 1, h.Key), 2, h.Value)
		})
	}
	return AppendText(out, 5, string(a.Body))
}

func code(over bool) uint64 {
	if over {
		return codeOver
	}
	return limitOK
}

// append appends a DescriptorStatus.
func (s *LimitStatus) append(out []byte) []byte {
	out = AppendWhole(out, 1, code(s.Over))
	if s.Limit == nil {
		return out
	}
	out = AppendMessage(out, 2, s.Limit.append)
	out = AppendWhole(out, 3, uint64(s.Left))
	return AppendMessage(out, 4, func(out []byte) []byte { // Duration
		return AppendWhole(out, 1, uint64(max(0, (s.Reset+time.Second-1)/time.Second)))
	})
}

// append appends a RateLimit.
func (l *Limit) append(out []byte) []byte {
	out = AppendWhole(out, 1, uint64(l.Events))
	out = AppendWhole(out, 2, unit(l.Window))
	return AppendText(out, 3, l.Rule)
}

// unit returns the unit that a window is one of, and otherwise 0, which is unknown: Envoy
// then writes the limit without a window. There is a field that multiplies the unit, and
// Envoys that do not know it would write a window that is too short.
func unit(window time.Duration) uint64 {
	switch window {
	case time.Second:
		return 1
	case time.Minute:
		return 2
	case time.Hour:
		return 3
	case 24 * time.Hour:
		return 4
	}
	return 0
}
