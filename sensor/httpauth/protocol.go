package httpauth

import "strings"

// protocol says where a proxy writes what.
type protocol uint8

const (
	protocolNone    protocol = iota
	protocolNginx            // X-Real-IP, X-Original-Method, X-Original-URI, Host
	protocolForward          // X-Forwarded-For, -Method, -Uri, -Host
	protocolEnvoy            // X-Forwarded-For, and the request's own method, path and host
)

const (
	pathNginx   = "/auth/nginx"
	pathForward = "/auth/forward"
	pathEnvoy   = "/auth/envoy"
)

// protocolOf reads a request target; rest is what Envoy appended. A query is
// no part of the protocol: Caddy appends the client's.
func protocolOf(target string) (p protocol, rest string) {
	if rest, ok := strings.CutPrefix(target, pathNginx); ok && ends(rest) {
		return protocolNginx, ""
	}
	if rest, ok := strings.CutPrefix(target, pathForward); ok && ends(rest) {
		return protocolForward, ""
	}
	// "*" is what OPTIONS asks for.
	if rest, ok := strings.CutPrefix(target, pathEnvoy); ok && (ends(rest) || rest[0] == '/' || rest[0] == '*') {
		return protocolEnvoy, rest
	}
	return protocolNone, ""
}

func ends(rest string) bool { return rest == "" || rest[0] == '?' }

func (p protocol) String() string {
	return [...]string{"", pathNginx, pathForward, pathEnvoy}[p]
}
