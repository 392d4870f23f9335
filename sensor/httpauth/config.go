package httpauth

import (
	"errors"
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/refusal"
)

// Config says how one listener asks and answers. Only Decide is needed.
type Config struct {
	// Decide returns the verdict. Many goroutines call it concurrently.
	Decide edgeguard.Decider
	// Now stamps the events. Nil: time.Now.
	Now func() time.Time
	// Trust holds the proxies that may name a client. Nil: this host's
	// loopback addresses and unix sockets.
	Trust *clientaddr.Trust
	// Header names the client on /auth/forward and on /auth/envoy/, as
	// clientaddr.NewFinder takes it. Empty: X-Forwarded-For.
	// /auth/nginx always reads X-Real-IP.
	Header string
	// Fronted says that the proxies themselves learn their clients from a
	// header (nginx with the realip module), so that every client is behind a
	// proxy. Without it, the client of a proxy of this host is taken for a
	// neighbour of this kernel: see [edgeguard.Event.Proxied].
	Fronted bool
	// LookUp looks for a block and counts nothing, for traffic that another
	// sensor counts: events are of no kind, and no rule matches them.
	LookUp bool
	// Uncounted, if set, receives requests that are not counted. It is called as
	// Decide is.
	Uncounted edgeguard.Uncounter
	// Policy returns the quota of a rule for the RateLimit fields; false, or a
	// nil Policy: a refusal goes without them.
	Policy func(rule string) (refusal.Policy, bool)
	// Alarm receives what an operator should look at, with one of the Alarm…
	// kinds. It is called on the request's goroutine, once per occurrence: the
	// listener must drop repetitions. Nil disables it.
	Alarm func(kind, text string)
	// Connections bounds what is open together. For one more another is closed,
	// see package lobby; while all are being answered, it gets a 503. 0: 1024.
	Connections int
	// HeaderLimit bounds a request's line and header in bytes, and is the
	// buffer of each connection. 0: 16 KiB.
	HeaderLimit int
}

// The kinds of alarm.
const (
	alarmNoClient   = "auth_no_client"      // no usable client address: passed
	alarmStranger   = "auth_untrusted_peer" // counted as the client itself
	alarmPanic      = "auth_panic"          // Decide panicked: passed
	alarmUnreadable = "auth_unreadable"     // over the limit or not HTTP: refused
)

const (
	defaultConnections = 1024
	defaultHeaderLimit = 16 << 10
	minHeaderLimit     = 1 << 10
)

// checked returns the config with its defaults filled in.
func (c Config) checked() (Config, error) {
	if c.Decide == nil {
		return c, errors.New("forward auth: Decide must be set")
	}
	if c.Now == nil {
		c.Now = time.Now
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
	if c.HeaderLimit == 0 {
		c.HeaderLimit = defaultHeaderLimit
	}
	if c.Connections < 0 || c.HeaderLimit < minHeaderLimit {
		return c, fmt.Errorf("forward auth: %d connections and a header limit of %d bytes: use at least 1 and %d",
			c.Connections, c.HeaderLimit, minHeaderLimit)
	}
	return c, nil
}
