// Package inline has what the sensors at which proxies ask about each request do alike: what an
// asker is told, how it decides, and what it reports of a request that it does not count.
package inline

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"sync/atomic"
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
	// Trust holds the proxies that may name a client. Nil: this host's loopback addresses
	// and unix sockets.
	Trust *clientaddr.Trust
	// Header names the client, as clientaddr.NewFinder takes it. Empty: X-Forwarded-For.
	Header string
	// Fronted says that the proxies themselves learn their clients from a header or from
	// the PROXY protocol, so that every client is behind a proxy. Without it, the client of
	// a proxy of this host is taken for a neighbour of this kernel: see
	// [edgeguard.Event.Proxied].
	Fronted bool
	// LookUp says that Decide looks for a block and counts nothing, for traffic that another
	// sensor counts: events are of no kind, and no rule matches them.
	LookUp bool
	// Uncounted, if set, receives requests that are not counted. It is called as Decide is.
	Uncounted edgeguard.Uncounter
	// Policy returns the quota of a rule; false, or a nil Policy: a refusal goes without it.
	Policy func(rule string) (refusal.Policy, bool)
	// Alarm receives what an operator should look at, with its kind. It is called on the
	// request's goroutine, once per occurrence: the listener must drop repetitions. Nil
	// disables it.
	Alarm func(kind, text string)
	// Connections bounds what is open together. For one more another is closed, see package
	// lobby. 0: as many as the sensor says.
	Connections int
}

// Asker turns requests into verdicts. It is safe for concurrent use.
type Asker struct {
	Config
	Finder *clientaddr.Finder // of Header
	// Let through for whatever reason, and refused; of the passed, those without a client's
	// address and those whose Decide panicked; asked by a peer that is not trusted.
	Passed, Refused, NoClient, Panics, Strangers atomic.Uint64

	kind string
}

// New makes an asker of so many connections if the config does not say. kind begins the kinds
// of its alarms.
func New(c Config, kind string, connections int) (*Asker, error) {
	if c.Decide == nil {
		return nil, errors.New(kind + ": Decide must be set")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Uncounted == nil {
		c.Uncounted = func(time.Time, []edgeguard.Uncounted) {}
	}
	if c.Policy == nil {
		c.Policy = func(string) (refusal.Policy, bool) { return refusal.Policy{}, false }
	}
	if c.Alarm == nil {
		c.Alarm = func(string, string) {}
	}
	if c.Connections == 0 {
		c.Connections = connections
	}
	if c.Connections < 0 {
		return nil, fmt.Errorf("%s: %d connections: use at least 1", kind, c.Connections)
	}
	if c.Trust == nil {
		trust, err := clientaddr.NewTrust(clientaddr.Loopback(), true)
		if err != nil {
			return nil, err
		}
		c.Trust = trust
	}
	finder, err := clientaddr.NewFinder(c.Trust, c.Header)
	return &Asker{Config: c, Finder: finder, kind: kind}, err
}

// PeerOf returns the address of a connection's other end; the zero Addr for a unix socket.
func PeerOf(addr net.Addr) netip.Addr {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// OnThisHost reports whether a peer's own peers are those of this kernel.
func OnThisHost(peer netip.Addr) bool { return !peer.IsValid() || peer.IsLoopback() }

// CountRequest makes a request of an event, unless another sensor counts it.
func (a *Asker) CountRequest(event *edgeguard.Event) {
	if !a.LookUp {
		event.Kind, event.Verified = edgeguard.KindRequest, edgeguard.KindRequest
	}
}

// Judge asks for the verdict at the instant now; a panic on the way is a pass.
func (a *Asker) Judge(now time.Time, event *edgeguard.Event, decide edgeguard.Decider) (verdict edgeguard.Verdict) {
	defer func() {
		if v := recover(); v != nil {
			verdict = edgeguard.Verdict{Reason: "panic"}
			a.ReportUncounted(event.Addr, edgeguard.DecisionFailed)
			a.ReportPanic("the decision panicked, and the request was let through", v)
		}
	}()
	event.Time = now
	return decide(now, event)
}

// Refuses reports whether a verdict refuses its request, and counts it.
func (a *Asker) Refuses(v *edgeguard.Verdict) bool {
	if v.Action != edgeguard.ActionDeny {
		a.Passed.Add(1)
		return false
	}
	a.Refused.Add(1)
	return true
}

// NameStranger makes a peer that is not trusted the client of its event: what is its name for
// people, if it is a proxy.
func (a *Asker) NameStranger(event *edgeguard.Event, peer netip.Addr, what string) {
	a.Strangers.Add(1)
	a.Alarm(a.kind+"_untrusted_peer", peer.String()+" is not trusted and is counted as a client itself: add it to trusted_proxies if it is "+what)
	event.Addr = peer
	a.CountRequest(event)
}

// PassNoClient returns the verdict on a request of which a text says why it has no client.
func (a *Asker) PassNoClient(text string) edgeguard.Verdict {
	a.NoClient.Add(1)
	a.ReportUncounted(netip.Addr{}, edgeguard.NoClient)
	a.Alarm(a.kind+"_no_client", text)
	return edgeguard.Verdict{Reason: "no client address"}
}

// ReportUncounted reports a request that is not counted, unless another sensor counts it.
func (a *Asker) ReportUncounted(addr netip.Addr, why edgeguard.Reason) {
	if !a.LookUp {
		now := a.Now()
		a.Uncounted(now, []edgeguard.Uncounted{{Time: now, Addr: addr, Reason: why}})
	}
}

// ReportPanic reports a defect of edgeguard, and what became of whom it met.
func (a *Asker) ReportPanic(what string, v any) {
	a.Panics.Add(1)
	a.Alarm(a.kind+"_panic", fmt.Sprintf("%s: %v\n%s", what, v, debug.Stack()))
}
