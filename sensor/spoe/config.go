package spoe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"edgeguard"
)

// Config says how one listener asks and answers. Decide and Admit are needed.
type Config struct {
	// Decide returns the verdict. Many goroutines call it concurrently.
	Decide edgeguard.Decider
	// Admit returns the connection to speak on, or why its peer may not speak. It may
	// wait for the peer, as TLS does.
	Admit func(context.Context, net.Conn) (net.Conn, error)
	// Now stamps the events. Nil: time.Now.
	Now func() time.Time
	// Fronted says that HAProxy itself takes its clients from a header (set-src), so
	// that every client is behind a proxy. Without it, the client of a HAProxy of this
	// host is taken for a neighbour of this kernel: see [edgeguard.Event.Proxied].
	Fronted bool
	// LookUp looks for a block and counts nothing, for traffic that another sensor
	// counts: events are of no kind, and no rule matches them.
	LookUp bool
	// Uncounted, if set, receives requests that are not counted. It is called as
	// Decide is.
	Uncounted edgeguard.Uncounter
	// Alarm receives what an operator should look at, with one of the Alarm… kinds. It
	// is called on the connection's goroutine, once per occurrence: the listener must
	// drop repetitions. Nil disables it.
	Alarm func(kind, text string)
	// Connections bounds what is open together. For one more another is closed, see
	// package lobby. 0: 256.
	Connections int
}

// The kinds of alarm.
const (
	alarmNoClient = "spoe_no_client" // no client address: passed
	alarmPanic    = "spoe_panic"     // Decide panicked: passed
	alarmHello    = "spoe_hello"     // no common version or size of frames
	alarmProtocol = "spoe_protocol"  // not a frame of SPOP: closed
	alarmStranger = "spoe_stranger"  // a peer that may not speak: closed
)

const defaultConnections = 256

// checked returns the config with its defaults filled in.
func (c Config) checked() (Config, error) {
	if c.Decide == nil || c.Admit == nil {
		return c, errors.New("SPOE: Decide and Admit must be set")
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
	if c.Connections == 0 {
		c.Connections = defaultConnections
	}
	if c.Connections < 0 {
		return c, fmt.Errorf("SPOE: %d connections: use at least 1", c.Connections)
	}
	return c, nil
}
