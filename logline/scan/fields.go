package scan

import (
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
	f.Kind, f.Forgeable = 0, false
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
	*ev = edgeguard.Event{
		Time:     f.At.Time(),
		Addr:     f.Addr,
		Kind:     kind,
		Verified: verified,
		Proxied:  f.Peer.IsValid() && f.Peer != f.Addr,
		Status:   f.Status,
		Port:     f.port,
		Known:    f.Known,
		Host:     f.text(edgeguard.FieldHost, f.host),
		Method:   f.text(edgeguard.FieldMethod, f.method),
		Path:     f.text(edgeguard.FieldPath, f.path),
		Agent:    f.text(edgeguard.FieldAgent, f.agent),
		Node:     f.text(edgeguard.FieldNode, f.node),

		Referer:   f.text(edgeguard.FieldReferer, f.referer),
		FetchSite: f.text(edgeguard.FieldFetchSite, f.fetchSite),
	}
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
	return unsafetext.String(f.unescaped(b))
}

// unescaped is a separate function, so that a field which is not known costs no
// call.
//
//go:noinline
func (f *Fields) unescaped(b []byte) []byte {
	if f.Raw {
		return b
	}
	return Unescape(b)
}
