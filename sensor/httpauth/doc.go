// Package httpauth answers proxies that ask before they let a request through:
// forward auth over HTTP. [Middleware] is for Go programs that ask without a proxy.
//
// A request's path, which is also the list of files:
//
//	server ─▶ protocol ─▶ question ─Event─▶ recent ─▶ Decide ─Verdict─▶ refusal ─▶ server
//
// One [Server] serves one listener and knows three protocols by their path:
//
//	/auth/nginx     nginx auth_request: 403 and X-Edgeguard-Status: 429, because
//	                nginx makes a 500 of anything but 2xx, 401 and 403
//	/auth/forward   Caddy forward_auth, Traefik forwardAuth: 429 as it is
//	/auth/envoy/…   Envoy ext_authz over HTTP: the original path follows
//
// A pass is an empty 200. A refusal says when to come again (Retry-After,
// RateLimit), by which rule, and why (an RFC 9457 problem).
//
// It fails open where the fault is ours: without a usable client address, and
// when Decide panics, the request passes and an alarm says so. It refuses what
// it cannot read (over the header limit, not HTTP). Otherwise a proxy that fails
// open would let through any client that writes what cannot be read. A header over
// the limit is counted all the same, unless a line that could name the client does
// not fit. What happens while edgeguard does not answer is the proxy's
// configuration; the tested ones are in package snippets.
//
// It reads the clock for deadlines only; the time of an event comes from
// [inline.Config.Now].
package httpauth
