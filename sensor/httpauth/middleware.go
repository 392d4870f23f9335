package httpauth

import (
	"errors"
	"net"
	"net/http"
	"net/netip"

	"edgeguard"
	"edgeguard/sensor/inline"
	"edgeguard/sensor/refusal"
)

// middleware is the middleware for Go programs: net/http handlers behind the same
// decisions, without a proxy that asks. It is safe for concurrent use.
type middleware struct{ asker *inline.Asker }

// wrap returns a handler that lets through to next what passes and answers the
// rest with 429.
func (g middleware) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verdict := g.ask(r)
		if !g.asker.Refuses(&verdict) {
			next.ServeHTTP(w, r)
			return
		}
		refused := refusal.Of(&verdict, g.asker.Policy)
		refused.Headers(w.Header().Set)
		w.WriteHeader(refusal.Status)
		_, _ = w.Write(refused.Body)
	})
}

// Middleware returns what wraps a handler of a Go program, in the shape that routers take. Of
// the config, Connections are the program's own server's business and not read.
func Middleware(c inline.Config) (func(http.Handler) http.Handler, error) {
	a, err := inline.New(c, "auth", 1)
	if err != nil {
		return nil, err
	}
	return middleware{a}.wrap, nil
}

// ask returns the verdict on a request. One that a trusted proxy sends without a
// client's name is its own: there is no other.
func (g middleware) ask(r *http.Request) edgeguard.Verdict {
	a := g.asker
	peer, err := peerOfRequest(r)
	if err != nil {
		return a.PassNoClient("a request from " + r.RemoteAddr + " has no client address, and was let through")
	}
	client := a.Finder.Find(peer, r.Header[a.Finder.Header()])
	if !client.Addr.IsValid() {
		return a.PassNoClient("a request over a unix socket without a good " + a.Finder.Header() + " names no client that can be read, and was let through")
	}
	event := edgeguard.Event{
		Addr: client.Addr, Named: client.FromHeader(), Proxied: client.Hops > 1 || client.Hops == 1 && (a.Fronted || !inline.OnThisHost(peer)),
		Host: r.Host, Method: r.Method, Path: r.RequestURI, Agent: r.UserAgent(),
		Referer: r.Referer(), FetchSite: r.Header.Get("Sec-Fetch-Site"),
		Known: edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent | edgeguard.FieldHeader |
			edgeguard.FieldReferer | edgeguard.FieldFetchSite,
		Header: func(name string) (string, bool) {
			values := r.Header.Values(name)
			if len(values) == 0 {
				return "", false
			}
			return values[0], true
		},
	}
	a.CountRequest(&event)
	return a.Judge(a.Now(), &event, a.Decide)
}

// peerOfRequest returns the socket's other end, the zero Addr for a unix socket.
// What else a RemoteAddr may be (a name that some other middleware wrote there)
// is an error and not a unix socket, which may be trusted.
func peerOfRequest(r *http.Request) (netip.Addr, error) {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return netip.Addr{}, nil
	}
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return ap.Addr().Unmap().WithZone(""), nil
	}
	if addr, err := netip.ParseAddr(r.RemoteAddr); err == nil {
		return addr.Unmap().WithZone(""), nil
	}
	return netip.Addr{}, errors.New("no address")
}
