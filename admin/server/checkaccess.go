package server

import (
	"net/http"
	"time"

	"edgeguard/admin/access"
)

// checkAccess passes on the requests that the policy accepts: to full, or to discreet
// where the caller has no login. It counts and answers the others. Both have the
// same patterns.
func (s *Server) checkAccess(full, discreet *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := full.Handler(r)
		caller, refusal := s.access.Check(r, pattern)
		if refusal == nil {
			next := discreet
			if caller.Role >= access.Reader {
				next = full
			}
			ctx, end := caller.During(access.WithCaller(r.Context(), caller))
			defer end()
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		s.config.Metrics.Refused(refusal.Reason)
		w.Header().Set("Connection", "close") // each guess costs its client a connection
		if r.ContentLength != 0 {             // the rest of a refused request is not read
			_ = http.NewResponseController(w).SetReadDeadline(time.Now())
		}
		var pages http.Handler
		if s.config.Pages != nil {
			pages = discreet
		}
		access.RefuseLogin(w, r.WithContext(access.WithCaller(r.Context(), caller)), refusal, pattern, pages)
	})
}
