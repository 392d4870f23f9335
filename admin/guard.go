package admin

import (
	"mime"
	"net/http"
	"strings"
	"time"
)

// guard lets in who may, before anything is parsed:
//
//	                 unix socket   TCP, token set        loopback, no token
//	/healthz, /readyz   yes            yes                    yes
//	reading             yes            with the token         yes
//	writing             yes            with the token         no
//	profiles            yes            loopback and token     no
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reason, p := s.refusal(r)
		if p == nil && origins.Check(r) != nil {
			reason, p = "origin", problem(http.StatusForbidden, "", "changes from a page of another site are refused", "use `edgeguard` or curl")
		}
		if p == nil {
			next.ServeHTTP(w, r)
			return
		}
		s.refusals.WithLabelValues(reason).Inc()
		if r.ContentLength != 0 { // the rest of a refused request is not read
			_ = http.NewResponseController(w).SetReadDeadline(time.Now())
		}
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="edgeguard"`)
		}
		p.send(w)
	})
}

// refusal returns why a request is refused, as a word for the metric and as a
// problem; nil if it is accepted.
func (s *Server) refusal(r *http.Request) (reason string, p *Problem) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		return "", nil
	}
	from := peerOf(r)
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case from.loopback && !isLocalHost(r.Host):
		return "host", problem(http.StatusMisdirectedRequest, "Host", "is not a name of the loopback address", "use localhost or 127.0.0.1; a proxy in front must set the Host header")
	case from.unix:
	case s.token != nil && !s.token.is(r.Header.Get("Authorization")):
		return "token", problem(http.StatusUnauthorized, "Authorization", "the token is missing or wrong", "send `Authorization: Bearer TOKEN`, or use the unix socket")
	case s.token == nil && !from.loopback:
		return "token", problem(http.StatusForbidden, "", "no token is set, so only requests from this host are accepted", "set token_file")
	case s.token == nil && !reading:
		return "readonly", problem(http.StatusForbidden, "", "changes over TCP require a token", "add a unix socket to listen.admin (unix:/run/edgeguard/admin.sock), or set token_file for this address")
	case strings.HasPrefix(r.URL.Path, "/debug/") && (s.token == nil || !from.loopback):
		return "profile", problem(http.StatusForbidden, "", "profiles require the unix socket, or a token on loopback", "use `curl --unix-socket PATH http://localhost/debug/pprof/…`, or set token_file and ask on loopback")
	}
	if !reading && !isJSON(r.Header.Get("Content-Type")) {
		return "content", problem(http.StatusUnsupportedMediaType, "Content-Type", "changes must be JSON", "send `Content-Type: application/json`")
	}
	return "", nil
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}
