package admin

import (
	"net/http"
	"strconv"
	"time"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// guard passes on the requests that the policy accepts: to full, or to discreet
// where the caller has no login. It counts and answers the others. Both have the
// same patterns.
func (s *Server) guard(full, discreet *http.ServeMux) http.Handler {
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
		if page, ok := refusal.LoginPage(r, pattern); ok && s.config.Pages != nil {
			http.Redirect(w, r, page, http.StatusSeeOther)
			return
		}
		s.config.Metrics.Refused(refusal.Reason)
		if r.ContentLength != 0 { // the rest of a refused request is not read
			_ = http.NewResponseController(w).SetReadDeadline(time.Now())
		}
		if refusal.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="edgeguard"`)
		}
		if after := refusal.RetryAfter(); after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(after))
		}
		call.NewProblem(refusal.Status, refusal.Field, refusal.Detail, refusal.Fix).Send(w)
	})
}
