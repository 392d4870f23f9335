package httpauth

import (
	"errors"
	"net"
	"net/http"
	"net/netip"

	"edgeguard"
	"edgeguard/sensor/refusal"
)

// Guard is the middleware for Go programs: net/http handlers behind the same
// decisions, without a proxy that asks. It is safe for concurrent use.
type Guard struct{ asker *asker }

// newGuard makes a middleware. Of the config, Connections and HeaderLimit are
// the program's own server's business and not read.
func newGuard(c Config) (*Guard, error) {
	a, err := newAsker(c)
	if err != nil {
		return nil, err
	}
	return &Guard{a}, nil
}

// Stats reads the counters.
func (g *Guard) Stats() Stats { return g.asker.stats.read() }

// Wrap returns a handler that lets through to next what passes and answers the
// rest with 429.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verdict := g.ask(r)
		if verdict.Action != edgeguard.ActionDeny {
			g.asker.stats.passed.Add(1)
			next.ServeHTTP(w, r)
			return
		}
		g.asker.stats.refused.Add(1)
		refused := refusal.Of(&verdict, g.asker.config.Policy)
		refused.Headers(w.Header().Set)
		w.WriteHeader(refusal.Status)
		_, _ = w.Write(refused.Body)
	})
}

// Middleware returns what wraps a handler with a Guard, in the shape that routers take.
func Middleware(c Config) (func(http.Handler) http.Handler, error) {
	g, err := newGuard(c)
	if err != nil {
		return nil, err
	}
	return g.Wrap, nil
}

// ask returns the verdict on a request. One that a trusted proxy sends without a
// client's name is its own: there is no other.
func (g *Guard) ask(r *http.Request) edgeguard.Verdict {
	a := g.asker
	peer, err := peerOfRequest(r)
	if err != nil {
		return a.noClient("a request from " + r.RemoteAddr)
	}
	client := a.finder.Find(peer, r.Header[a.finder.Header()])
	if !client.Addr.IsValid() {
		return a.noClient("a request over a unix socket without a good " + a.finder.Header())
	}
	event := edgeguard.Event{
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
	a.place(&event, peer, client)
	return a.decide(a.config.Now(), &event)
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
