package envoy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/refusal"
)

// Config says how one listener asks and answers. Decide and Look are needed.
type Config struct {
	// Decide returns the verdict. Many goroutines call it concurrently.
	Decide edgeguard.Decider
	// Look returns the verdict of the blocks alone, and counts nothing.
	Look edgeguard.Decider
	// Count returns what an event's key has counted for a rule and the rule's limit and
	// window; false where the rule does not count the event. Nil: no call knows it.
	Count func(now time.Time, event *edgeguard.Event, rule string) (Count, bool)
	// Policy returns the quota of a rule; false, or a nil Policy: a refusal goes without it.
	Policy func(rule string) (refusal.Policy, bool)
	// Now stamps the events. Nil: time.Now.
	Now func() time.Time
	// Trust holds the Envoys that may name a client, and the proxies in front of them. Nil:
	// this host's loopback addresses and unix sockets.
	Trust *clientaddr.Trust
	// Header names the client behind a proxy in front of Envoy, as clientaddr.NewFinder takes
	// it. Empty: X-Forwarded-For.
	Header string
	// Fronted says that Envoy itself learns the address of its clients from a header or from
	// the PROXY protocol, so that every client is behind a proxy. Without it, the client of
	// an Envoy of this host is taken for a neighbour of this kernel: see
	// [edgeguard.Event.Proxied].
	Fronted bool
	// LookUp says that Decide counts nothing, because another sensor counts the traffic:
	// events are of no kind, and no rule matches them.
	LookUp bool
	// Uncounted, if set, receives requests that are not counted. It is called as Decide is.
	Uncounted edgeguard.Uncounter
	// Alarm receives what an operator should look at, with one of the Alarm… kinds. It is
	// called on the call's goroutine, once per occurrence: the listener must drop
	// repetitions. Nil disables it.
	Alarm func(kind, text string)
	// TLS is that of the listener; nil for none.
	TLS *tls.Config
	// Connections bounds what is open together. For one more another is closed, see package
	// lobby. 0: 64.
	Connections int
}

// Count is what a key has counted for a rule.
type Count struct {
	Count, Limit uint32
	Window       time.Duration
}

// The kinds of alarm.
const (
	alarmNoClient   = "envoy_no_client"      // no client address: passed
	alarmStranger   = "envoy_untrusted_peer" // counted as the client itself
	alarmPanic      = "envoy_panic"          // Decide panicked: passed
	alarmUnreadable = "envoy_unreadable"     // too long: refused; or not a call: an error
)

const defaultConnections = 64

// checked returns the config with its defaults filled in.
func (c Config) checked() (Config, error) {
	if c.Decide == nil || c.Look == nil {
		return c, errors.New("envoy: Decide and Look must be set")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Count == nil {
		c.Count = func(time.Time, *edgeguard.Event, string) (Count, bool) { return Count{}, false }
	}
	if c.Policy == nil {
		c.Policy = func(string) (refusal.Policy, bool) { return refusal.Policy{}, false }
	}
	if c.Uncounted == nil {
		c.Uncounted = func(time.Time, []edgeguard.Uncounted) {}
	}
	if c.Alarm == nil {
		c.Alarm = func(string, string) {}
	}
	if c.Trust == nil {
		trust, err := clientaddr.NewTrust(clientaddr.Loopback(), true)
		if err != nil {
			return c, err
		}
		c.Trust = trust
	}
	if c.Connections == 0 {
		c.Connections = defaultConnections
	}
	if c.Connections < 0 {
		return c, fmt.Errorf("envoy: %d connections: use at least 1", c.Connections)
	}
	return c, nil
}
