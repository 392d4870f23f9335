package aggregator

import "math"

// Span is steps of time of which a node asks the others what they did.
type Span struct {
	Step   int `json:"step"`   // minutes
	Length int `json:"length"` // steps
	// Until is the number of the first step behind it, from 1970 on; 0 for a span that ends now.
	Until int64 `json:"until,omitempty"`
}

// The bounds of a span, and how many of them a heartbeat names at most.
const (
	MostSpans      = 3
	MostSpanSteps  = 101
	mostSpanMinute = 24 * 60 // of one step
)

// Valid reports whether a node can have asked for the span.
func (s Span) Valid() bool {
	return s.Step > 0 && s.Step <= mostSpanMinute && s.Length > 0 && s.Length <= MostSpanSteps && s.Until >= 0 && s.Until <= math.MaxUint32
}
