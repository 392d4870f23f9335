package envoy

import (
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"time"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
)

// asker turns a client and its request into a verdict. It is safe for concurrent use.
type asker struct {
	config Config
	finder *clientaddr.Finder
	stats  counters
}

func newAsker(c Config) (*asker, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	finder, err := clientaddr.NewFinder(c.Trust, c.Header)
	if err != nil {
		return nil, err
	}
	return &asker{config: c, finder: finder}, nil
}

// peer is the other end of a connection.
type peer struct {
	conn    *conn
	addr    netip.Addr // the zero Addr for a unix socket
	trusted bool       // for its address
}

type peerKey struct{}

// peerOf returns the peer of a connection.
func (a *asker) peerOf(nc net.Conn) peer {
	c, _ := nc.(*conn)
	p := peer{conn: c}
	if tcp, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		p.addr = tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	p.trusted = a.config.Trust.Has(p.addr)
	return p
}

// onThisHost reports whether the peer's own peers are those of this kernel.
func (p peer) onThisHost() bool { return !p.addr.IsValid() || p.addr.IsLoopback() }

// stranger asks about a peer that is not trusted, as a client.
func (a *asker) stranger(p peer) (event edgeguard.Event) {
	a.stats.strangers.Add(1)
	a.config.Alarm(alarmStranger, p.addr.String()+" is not trusted and is counted as a client itself: add it to trusted_proxies if it is an Envoy")
	event.Addr = p.addr
	a.kind(&event)
	return event
}

// place fills in the client of the event: the last hop of which Envoy reports, or who that
// names if it is a trusted proxy. It reports false where nobody is named.
func (a *asker) place(event *edgeguard.Event, p peer, hop netip.Addr, lines []string) bool {
	client := a.finder.Find(hop, lines)
	if !client.FromHeader() && a.finder.Trusts(hop) {
		return false
	}
	event.Addr, event.Named = client.Addr, true
	event.Proxied = client.FromHeader() || a.config.Fronted || !p.onThisHost()
	a.kind(event)
	return true
}

func (a *asker) kind(event *edgeguard.Event) {
	if !a.config.LookUp {
		event.Kind, event.Verified = edgeguard.KindRequest, edgeguard.KindRequest
	}
}

// ask returns the verdict on an event, and counts it unless look is set.
func (a *asker) ask(event *edgeguard.Event, look bool) edgeguard.Verdict {
	now := a.config.Now()
	event.Time = now
	decide := a.config.Decide
	if look {
		decide = a.config.Look
		defer a.stats.lookedUp.Add(1) // after passed or refused, as all that is a part of these
	}
	verdict := a.decide(now, event, decide)
	if verdict.Action == edgeguard.ActionDeny {
		a.stats.refused.Add(1)
	} else {
		a.stats.passed.Add(1)
	}
	return verdict
}

// decide asks for the verdict at the instant now; a panic on the way is a pass.
func (a *asker) decide(now time.Time, event *edgeguard.Event, decide edgeguard.Decider) (verdict edgeguard.Verdict) {
	defer func() {
		if v := recover(); v != nil {
			verdict = edgeguard.Verdict{Reason: "panic"}
			a.stats.panics.Add(1)
			a.uncounted(event.Addr, edgeguard.DecisionFailed)
			a.config.Alarm(alarmPanic, fmt.Sprintf("the decision panicked, and the request was let through: %v\n%s", v, debug.Stack()))
		}
	}()
	return decide(now, event)
}

// noClient passes a request that names no client.
func (a *asker) noClient(what string) edgeguard.Verdict {
	a.stats.passed.Add(1)
	a.stats.noClient.Add(1)
	a.uncounted(netip.Addr{}, edgeguard.NoClient)
	a.config.Alarm(alarmNoClient, what+", and the request was let through")
	return edgeguard.Verdict{Reason: "no client address"}
}

// tooLong refuses a request that is too long to be read: a client has made it so.
func (a *asker) tooLong() {
	a.stats.refused.Add(1)
	a.stats.tooLong.Add(1)
	a.uncounted(netip.Addr{}, edgeguard.HeadersTooLong)
	a.config.Alarm(alarmUnreadable, "a request was refused because it was too long to be asked about: have Envoy refuse it (max_request_headers_kb: 60, which is its default), and send no bodies (with_request_body)")
}

// unreadable notes a call that cannot be answered. An Envoy that fails open lets its request
// through.
func (a *asker) unreadable(code Code, why string) {
	if code == exhausted {
		a.stats.crowded.Add(1)
	} else {
		a.stats.unreadable.Add(1)
	}
	a.uncounted(netip.Addr{}, edgeguard.NotHTTP)
	a.config.Alarm(alarmUnreadable, "what was asked cannot be read, and was answered with an error: "+why)
}

// uncounted reports a request that is not counted, unless another sensor counts it.
func (a *asker) uncounted(addr netip.Addr, why edgeguard.Reason) {
	if a.config.LookUp {
		return
	}
	now := a.config.Now()
	a.config.Uncounted(now, []edgeguard.Uncounted{{Time: now, Addr: addr, Reason: why}})
}
