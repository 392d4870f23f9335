package access

import (
	"net/http"
	"strings"
)

// proxyHeaders are set by reverse proxies, beside those that begin with
// X-Forwarded-. A client that sends one itself only refuses itself.
var proxyHeaders = map[string]bool{
	"Forwarded": true, "Via": true, "X-Real-Ip": true, "X-Client-Ip": true, "True-Client-Ip": true,
	"Cf-Connecting-Ip": true, "X-Original-Forwarded-For": true, "X-Envoy-External-Address": true,
}

// proxied returns by what a request shows that a reverse proxy forwards it, or ""
// for nothing. HTTP/1.0 is one such sign: nginx speaks it by default, and then
// sends no other.
func proxied(r *http.Request) string {
	for name, values := range r.Header {
		if (proxyHeaders[name] || strings.HasPrefix(name, "X-Forwarded-")) && strings.Join(values, "") != "" {
			return name
		}
	}
	if !r.ProtoAtLeast(1, 1) {
		return r.Proto
	}
	return ""
}

// foreignPage reports whether a browser asks because of a page of another origin,
// other than by showing the answer in a tab of its own: a link may lead here, but
// an image, a frame or a script may not. Ports of one host are other origins, too.
func foreignPage(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}
