package envoy

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/sensor/inline"
)

// alarmUnreadable is about a request that was too long and is refused, or about what is not a
// call and is answered with an error.
const alarmUnreadable = "envoy_unreadable"

// asker turns a client and its request into a verdict. It is safe for concurrent use.
type asker struct {
	*inline.Asker
	config Config // what an Asker has not
	stats  counters
}

func newAsker(c Config) (*asker, error) {
	if c.Look == nil {
		return nil, errors.New("envoy: Look must be set")
	}
	if c.Count == nil {
		c.Count = func(time.Time, *edgeguard.Event, string) (Count, bool) { return Count{}, false }
	}
	a, err := inline.New(c.Config, "envoy", 64)
	return &asker{Asker: a, config: c}, err
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
	addr := inline.PeerOf(nc.RemoteAddr())
	return peer{conn: c, addr: addr, trusted: a.Trust.Has(addr)}
}

// place fills in the client of the event: the last hop of which Envoy reports, or who that
// names if it is a trusted proxy. It reports false where nobody is named.
func (a *asker) place(event *edgeguard.Event, p peer, hop netip.Addr, lines []string) bool {
	client := a.Finder.Find(hop, lines)
	if !client.FromHeader() && a.Finder.Trusts(hop) {
		return false
	}
	event.Addr, event.Named = client.Addr, true
	event.Proxied = client.FromHeader() || a.Fronted || !inline.OnThisHost(p.addr)
	a.CountRequest(event)
	return true
}

// ask returns the verdict on an event, and counts it unless look is set.
func (a *asker) ask(event *edgeguard.Event, look bool) edgeguard.Verdict {
	decide := a.Decide
	if look {
		decide = a.config.Look
		defer a.stats.lookedUp.Add(1) // after passed or refused, as all that is a part of these
	}
	verdict := a.Judge(a.Now(), event, decide)
	a.Refuses(&verdict)
	return verdict
}

// noClient passes a request that names no client.
func (a *asker) noClient(what string) edgeguard.Verdict {
	a.Passed.Add(1)
	return a.PassNoClient(what + ", and the request was let through")
}

// tooLong refuses a request that is too long to be read: a client has made it so.
func (a *asker) tooLong() {
	a.Refused.Add(1)
	a.stats.tooLong.Add(1)
	a.ReportUncounted(netip.Addr{}, edgeguard.HeadersTooLong)
	a.Alarm(alarmUnreadable, "a request was refused because it was too long to be asked about: have Envoy refuse it (max_request_headers_kb: 60, which is its default), and send no bodies (with_request_body)")
}

// unreadable notes a call that cannot be answered. An Envoy that fails open lets its request
// through.
func (a *asker) unreadable(code Code, why string) {
	if code == exhausted {
		a.stats.crowded.Add(1)
	} else {
		a.stats.unreadable.Add(1)
	}
	a.ReportUncounted(netip.Addr{}, edgeguard.NotHTTP)
	a.Alarm(alarmUnreadable, "what was asked cannot be read, and was answered with an error: "+why)
}
