package envoy

import (
	"crypto/tls"
	"time"

	"edgeguard"
	"edgeguard/sensor/inline"
)

// Config says how one listener asks and answers. Decide and Look are needed.
type Config struct {
	inline.Config
	// Look returns the verdict of the blocks alone, and counts nothing.
	Look edgeguard.Decider
	// Count returns what an event's key has counted for a rule and the rule's limit and
	// window; false where the rule does not count the event. Nil: no call knows it.
	Count func(now time.Time, event *edgeguard.Event, rule string) (Count, bool)
	// TLS is that of the listener; nil for none.
	TLS *tls.Config
}

// Count is what a key has counted for a rule.
type Count struct {
	Count, Limit uint32
	Window       time.Duration
}
