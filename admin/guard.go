package admin

import (
	"net/http"
	"time"
)

// guard passes on the requests that the policy accepts. It counts and answers
// the others.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refusal := s.access.Check(r)
		if refusal == nil {
			next.ServeHTTP(w, r)
			return
		}
		s.config.Metrics.Refused(refusal.Reason)
		if r.ContentLength != 0 { // the rest of a refused request is not read
			_ = http.NewResponseController(w).SetReadDeadline(time.Now())
		}
		if refusal.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="edgeguard"`)
		}
		problem(refusal.Status, refusal.Field, refusal.Detail, refusal.Fix).send(w)
	})
}
