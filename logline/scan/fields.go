package scan

import (
	"bytes"
	"net/netip"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// Fields is what a parser found in a line, before it is an event.
type Fields struct {
	Addr netip.Addr
	Peer netip.Addr
	At   Instant

	Status, port uint16
	Known        edgeguard.Field

	// Kind is what happened: 0 for a request, and its answer where the status is
	// known. Forgeable says that a stranger can forge the address.
	Kind      edgeguard.Kind
	Forgeable bool
	stray     edgeguard.Stray

	// Short says that the end of the line is missing, Cut that of the request.
	// Raw says that the texts have no escapes any more.
	Short, Cut, Raw bool

	Request, method, path, host, agent, node, referer, fetchSite []byte
}

// Reset forgets the line before. The texts need no clearing: Known says which of
// them hold.
func (f *Fields) Reset() {
	f.Addr, f.Peer, f.At = netip.Addr{}, netip.Addr{}, Instant{}
	f.Status, f.port, f.Known = 0, 0, 0
	f.Kind, f.Forgeable, f.stray = 0, false, 0
	f.Request, f.Short, f.Cut = nil, false, false
}

// Event writes the fields as an event. Escapes are undone here, in place, and
// only in what is passed on.
func (f *Fields) Event(ev *edgeguard.Event) Reason {
	if !f.At.OK() {
		return farTime
	}
	if f.Request != nil {
		f.splitRequest()
	}
	kind, verified := f.kinds()
	// Field by field: a composite literal is made elsewhere first, and then copied.
	ev.Time, ev.Addr, ev.Kind, ev.Verified = f.At.Time(), f.Addr, kind, verified
	ev.Proxied = f.Peer.IsValid() && f.Peer != f.Addr
	ev.Named, ev.Answer, ev.Awaited, ev.Again, ev.TurnedAway, ev.Source, ev.Hits = ev.Proxied, false, false, false, false, 0, 0
	ev.Stray = f.stray
	ev.Known, ev.Status, ev.Port = f.Known, f.Status, f.port
	ev.Host = f.text(edgeguard.FieldHost, f.host)
	ev.Method = f.text(edgeguard.FieldMethod, f.method)
	ev.Path = f.text(edgeguard.FieldPath, f.path)
	ev.Agent = f.text(edgeguard.FieldAgent, f.agent)
	ev.Node = f.text(edgeguard.FieldNode, f.node)
	ev.Referer = f.text(edgeguard.FieldReferer, f.referer)
	ev.FetchSite = f.text(edgeguard.FieldFetchSite, f.fetchSite)
	ev.Crawler, ev.Header = "", nil
	if f.Short || f.Cut {
		return CutShort
	}
	return Read
}

// kinds returns what the line reports, and which of that cannot be forged.
func (f *Fields) kinds() (kind, verified edgeguard.Kind) {
	switch {
	case f.Kind != 0:
		kind = f.Kind
	case f.Known&edgeguard.FieldStatus != 0:
		kind = edgeguard.KindRequest | edgeguard.KindResponse
	default:
		kind = edgeguard.KindRequest
	}
	if f.Forgeable {
		return kind, 0
	}
	return kind, kind & edgeguard.Verifiable
}

// text returns a field that is known without its escapes.
func (f *Fields) text(field edgeguard.Field, b []byte) string {
	if f.Known&field == 0 {
		return ""
	}
	return f.unescaped(b)
}

// unescaped is apart from text, so that an unknown field, of which an event has several, costs no call.
//
//go:noinline
func (f *Fields) unescaped(b []byte) string {
	if !f.Raw {
		b = Unescape(b)
	}
	return unsafetext.String(b)
}

// InHost reports whether a byte is in the host.
func (f *Fields) InHost(c byte) bool {
	return f.Known&edgeguard.FieldHost != 0 && bytes.IndexByte(f.host, c) >= 0
}
