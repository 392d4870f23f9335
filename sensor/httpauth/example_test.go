package httpauth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"edgeguard"
	"edgeguard/sensor/httpauth"
	"edgeguard/sensor/inline"
)

// A Go program guards its handler with the same decisions as a proxy: here the
// third request of an address is refused.
func ExampleMiddleware() {
	seen := map[string]int{}
	decide := func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		if seen[e.Addr.String()]++; seen[e.Addr.String()] <= 2 {
			return edgeguard.Verdict{}
		}
		return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "site", Reason: "over limit", RetryAfter: time.Minute}
	}
	guard, err := httpauth.Middleware(inline.Config{Decide: decide})
	if err != nil {
		panic(err)
	}
	site := guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	for range 3 {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 ""
	// 200 ""
	// 429 "60"
}
