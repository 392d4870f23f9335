package admin

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
)

// answer is one method of one resource; what it returns is sent.
type answer func(http.ResponseWriter, *http.Request) *Problem

// methods are those of one resource.
type methods map[string]answer

func (s *Server) routes(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	for path, m := range map[string]methods{
		"/healthz":                   {"GET": s.getHealth},
		"/readyz":                    {"GET": s.getReady},
		"/api/v1/status":             {"GET": s.getStatus},
		"/api/v1/fleet":              {"GET": s.getFleet},
		"/api/v1/blocks":             {"GET": s.listBlocks, "POST": s.addBlock},
		"/api/v1/blocks/{prefix...}": {"GET": s.getBlock, "PATCH": s.extendBlock, "DELETE": s.removeBlock},
		"/api/v1/held":               {"GET": s.listHeld},
		"/api/v1/held/confirm":       {"POST": s.confirm},
		"/api/v1/allow":              {"GET": s.listAllowances, "POST": s.addAllowance},
		"/api/v1/allow/{prefix...}":  {"DELETE": s.removeAllowance},
		"/api/v1/explain/{address}":  {"GET": s.explain},
		"/api/v1/rules":              {"GET": s.listRules},
		"/api/v1/rules/{name}":       {"GET": s.getRule},
		"/api/v1/top":                {"GET": s.getTop},
		"/api/v1/events":             {"GET": s.streamEvents},
		"/api/v1/reload":             {"POST": s.reload},
	} {
		mux.Handle(path, m)
	}
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // also heap, goroutine and the other named ones
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(http.StatusNotFound, "", fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path), "see docs/api.md").send(w)
	})
	return mux
}

// ServeHTTP answers with the method's handler.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle, ok := m[method]
	if !ok {
		allowed := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
		w.Header().Set("Allow", allowed)
		problem(http.StatusMethodNotAllowed, "", r.Method+" is not for this path", "use "+allowed).send(w)
		return
	}
	if p := handle(w, r); p != nil {
		p.send(w)
	}
}
