package admin

import (
	"net/http"
	"net/http/pprof"
)

// profiles are the profiles of this process, by their patterns.
var profiles = map[string]http.HandlerFunc{
	"GET /debug/pprof/":        pprof.Index, // also heap, goroutine and the other named ones
	"GET /debug/pprof/cmdline": pprof.Cmdline,
	"GET /debug/pprof/profile": pprof.Profile,
	"GET /debug/pprof/symbol":  pprof.Symbol,
	"GET /debug/pprof/trace":   pprof.Trace,
}
