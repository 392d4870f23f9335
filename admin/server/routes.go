package server

import (
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// answer is one method of one resource; what it returns is sent.
type answer func(http.ResponseWriter, *http.Request) *call.Problem

// methods are those of one resource.
type methods map[string]answer

// resources returns all resources of the API by their paths.
func (s *Server) resources(view *admin.View) map[string]methods {
	reads := &reads{View: view}
	changes := writes{s.changes, func() admin.Imports { return s.config.View.Reader().Imports() }}
	rules := ruleAnswers{s.changes}
	kernel, bouncers := kernelAnswers{s.config.Operator, s.changes}, bouncerAnswers{s.config.Operator, s.changes}
	clients := clientAnswers{s.config.Operator, changes}
	return map[string]methods{
		"/healthz":                       {"GET": reads.getHealth},
		"/readyz":                        {"GET": reads.getReady},
		"/api/v1/openapi.json":           {"GET": s.getDocument},
		"/api/v1/status":                 {"GET": reads.getStatus},
		"/api/v1/fleet":                  {"GET": reads.getFleet},
		"/api/v1/fleet/held":             {"GET": reads.getFleetHeld},
		"/api/v1/fleet/sign":             {"POST": changes.sign},
		"/api/v1/blocks":                 {"GET": reads.listBlocks, "POST": changes.addBlock, "DELETE": changes.removeBlocks},
		"/api/v1/blocks/import":          {"POST": changes.importMany(false)},
		"/api/v1/blocks/{prefix...}":     {"GET": reads.getBlock, "PATCH": changes.extendBlock, "DELETE": changes.removeBlock},
		"/api/v1/held":                   {"GET": reads.listHeld},
		"/api/v1/held/confirm":           {"POST": changes.confirm},
		"/api/v1/imports":                {"GET": reads.listImports},
		"/api/v1/imports/{name}/confirm": {"POST": changes.confirmImport},
		"/api/v1/allow":                  {"GET": reads.listAllowances, "POST": changes.addAllowance, "DELETE": changes.removeAllowances},
		"/api/v1/allow/import":           {"POST": changes.importMany(true)},
		"/api/v1/allow/{prefix...}":      {"DELETE": changes.removeAllowance},
		"/api/v1/clients":                {"GET": clients.list, "POST": clients.add},
		"/api/v1/clients/{prefix...}":    {"DELETE": clients.remove},
		"/api/v1/explain/{address}":      {"GET": reads.explain},
		"/api/v1/samples/{prefix...}":    {"GET": reads.getSamples},
		"/api/v1/evidence/{prefix...}":   {"GET": reads.getEvidence},
		"/api/v1/attacks":                {"GET": reads.listAttacks},
		"/api/v1/attacks/{id}":           {"GET": reads.getAttack},
		"/api/v1/audit":                  {"GET": reads.listAudit},
		"/api/v1/audit/{batch}/undo":     {"POST": changes.undoMany},
		"/api/v1/history":                {"GET": reads.listPast},
		"/api/v1/rates":                  {"GET": reads.getRates},
		"/api/v1/rates/day":              {"GET": reads.getDay},
		"/api/v1/rules":                  {"GET": reads.listRules},
		"/api/v1/rules/{name}":           {"GET": reads.getRule, "PATCH": rules.setThreshold},
		"/api/v1/rules/{name}/outcome":   {"GET": reads.getOutcome},
		"/api/v1/rules/{name}/key":       {"GET": reads.explainKey},
		"/api/v1/rules/{name}/overlay":   {"DELETE": rules.endOverlay},
		"/api/v1/rules/{name}/history":   {"GET": reads.getHistory},
		"/api/v1/top":                    {"GET": reads.getTop},
		"/api/v1/events":                 {"GET": reads.streamEvents},
		"/api/v1/watch":                  {"GET": reads.watch},
		"/api/v1/kernel":                 {"GET": kernel.state},
		"/api/v1/kernel/try":             {"POST": kernel.try},
		"/api/v1/kernel/confirm":         {"POST": kernel.confirm},
		"/api/v1/kernel/clear":           {"POST": kernel.pause},
		"/api/v1/kernel/resume":          {"POST": kernel.resume},
		"/api/v1/bouncers":               {"GET": bouncers.list, "POST": bouncers.add},
		"/api/v1/bouncers/{name}":        {"DELETE": bouncers.remove},
		"/api/v1/reload":                 {"POST": changes.reload},
		"/api/v1/login-links":            {"POST": access.AnswerLinks},
		"/api/v1/sessions":               {"DELETE": access.AnswerEndSessions},

		"/api/v1/rules/{name}/candidates/{threshold}": {"PUT": rules.addCandidate, "DELETE": rules.removeCandidate},
	}
}

// Routes returns all routes, each as its method and its pattern.
func (s *Server) Routes() []string {
	all := []string{"GET /metrics", "GET /"}
	for path, m := range s.resources(nil) {
		for method := range m {
			all = append(all, method+" "+path)
		}
	}
	for pattern := range profiles {
		all = append(all, pattern)
	}
	slices.Sort(all)
	return all
}

// routes returns the routes to what a view shows. The pages for clients without a
// login have no changes.
func (s *Server) routes(view *admin.View, changes *admin.Changes) *http.ServeMux {
	mux := http.NewServeMux()
	for path, m := range s.resources(view) {
		mux.Handle(path, m)
	}
	var missing http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { call.NoPath(r).Send(w) })
	if s.config.Pages != nil {
		for pattern, pages := range s.config.Pages(view, changes) {
			if pattern == "GET /" { // the multiplexer refuses it beside resources of any method
				missing = pages
				continue
			}
			mux.Handle(pattern, pages)
		}
	}
	mux.Handle("/", missing)
	mux.Handle("GET /metrics", s.config.Metrics)
	for pattern, profile := range profiles {
		mux.Handle(pattern, profile)
	}
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
		call.NewProblem(http.StatusMethodNotAllowed, "", r.Method+" is not supported for this path", "use "+allowed).Send(w)
		return
	}
	if p := handle(w, r); p != nil {
		p.Send(w)
	}
}

// profiles are the profiles of this process, by their patterns.
var profiles = map[string]http.HandlerFunc{
	"GET /debug/pprof/":        pprof.Index, // also heap, goroutine and the other named ones
	"GET /debug/pprof/cmdline": pprof.Cmdline,
	"GET /debug/pprof/profile": pprof.Profile,
	"GET /debug/pprof/symbol":  pprof.Symbol,
	"GET /debug/pprof/trace":   pprof.Trace,
}
