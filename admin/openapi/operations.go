package openapi

import (
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/watch"
)

// operation is what a route does, as far as its Go types do not say it.
type operation struct {
	id      string // a name for programs
	summary string
	query   []string // names of parameters
	body    any      // a value of the request's type; nil for none
	status  int      // of success; 0 means 200
	answer  any      // a value of the answer's type; nil for none
	also    int      // another status with the same answer; 0 for none
	media   string   // of an answer that is not JSON
	exports []string // other types of the answer, beside JSON
	fails   []int    // statuses of problems beside those that any route has
}

// operations are the routes of the API, each by its method and its pattern.
var operations = map[string]operation{
	"GET /healthz": {id: "getHealth", summary: "Whether the process answers", answer: admin.Health{}},
	"GET /readyz":  {id: "getReadiness", summary: "Whether the node has restored its state and listens. Not ready is 503, with the same answer", answer: admin.Readiness{}, also: 503},
	"GET /metrics": {id: "getMetrics", summary: "Figures for Prometheus", media: "text/plain"},

	"GET /debug/pprof/":        {id: "listProfiles", summary: "Go's profiles of the process", media: "text/html"},
	"GET /debug/pprof/cmdline": {id: "getCommandLine", summary: "The process's command line", media: "text/plain"},
	"GET /debug/pprof/profile": {id: "getProfile", summary: "A profile of the processor's time", query: []string{"seconds"}, media: "application/octet-stream"},
	"GET /debug/pprof/symbol":  {id: "getSymbol", summary: "Names of addresses in the program", media: "text/plain"},
	"GET /debug/pprof/trace":   {id: "getTrace", summary: "A trace of the process", query: []string{"seconds"}, media: "application/octet-stream"},

	"GET /api/v1/openapi.json": {id: "getDocument", summary: "This document", media: "application/json"},
	"GET /api/v1/status":       {id: "getStatus", summary: "The node's figures", answer: admin.Stats{}},
	"POST /api/v1/reload":      {id: "reload", summary: "Reads the config again. On an error the previous one stays in use", answer: admin.Reloaded{}, fails: []int{422}},
	"POST /api/v1/login-links": {id: "addLoginLinks", summary: "Makes links that log a browser in as an operator, once. Over the operators' unix socket only", status: 201, answer: access.LoginLinks{}, fails: []int{409}},
	"DELETE /api/v1/sessions":  {id: "endSessions", summary: "Logs all browsers out, and makes unused links useless", answer: access.SessionsEnded{}},
	"GET /api/v1/events": {id: "streamEvents", summary: "Events as they happen, as server-sent events. The data of each is an Event as JSON",
		query: []string{"kind", "after"}, media: "text/event-stream", fails: []int{400, 503}},
	"GET /api/v1/watch": {id: "watch", summary: "The figures of prefixes every five seconds, as server-sent events of the kind `figures`, and events of the kinds asked for. With once=true one message as JSON",
		query: []string{"prefix", "rule", "slots", "kind", "after", "once"}, answer: watch.Watched{}, exports: []string{"text/event-stream"}, fails: []int{400, 503}},

	"GET /api/v1/blocks": {id: "listBlocks", summary: "Active blocks, page by page",
		query: []string{"rule", "owner", "origin", "made_by", "prefix", "contains", "family", "proxied", "since_after", "batch", "order", "dir", "limit", "cursor"}, answer: admin.BlockPage{},
		exports: []string{"text/csv", "application/x-ndjson"}, fails: []int{400}},
	"POST /api/v1/blocks": {id: "addBlock", summary: "Blocks a prefix",
		body: admin.BlockRequest{}, status: 201, answer: admin.Block{}, fails: []int{400, 409, 413, 422}},
	"DELETE /api/v1/blocks": {id: "removeBlocks", summary: "Lifts the blocks that match a filter: one change, with their list",
		query: []string{"rule", "owner", "origin", "prefix", "contains", "family", "made_by", "proxied", "since_after", "batch", "attack", "seen", "all", "dry_run", "reason"}, answer: admin.BulkLifted{}, fails: []int{400, 404}},
	"POST /api/v1/blocks/import": {id: "importBlocks", summary: "Blocks up to 100,000 prefixes, with a result for each and a name for all",
		body: admin.BulkRequest{}, answer: admin.BulkDone{}, fails: []int{400, 413}},
	"GET /api/v1/blocks/{prefix...}": {id: "getBlock", summary: "The active block of exactly this prefix", answer: admin.ActiveBlock{}, fails: []int{400, 404}},
	"PATCH /api/v1/blocks/{prefix...}": {id: "extendBlock", summary: "Moves the end of a block, to later or sooner",
		body: admin.ExtendRequest{}, answer: admin.Block{}, fails: []int{400, 404, 409, 413, 422}},
	"DELETE /api/v1/blocks/{prefix...}": {id: "removeBlock", summary: "Lifts a block and resets the counts of its addresses. With an owner it lifts that owner's block only, and resets nothing",
		query: []string{"reason", "owner"}, answer: admin.Block{}, fails: []int{400, 404, 409}},

	"GET /api/v1/held":          {id: "listHeld", summary: "Records of other nodes that are not in force here", query: []string{"limit", "cursor"}, answer: admin.HeldPage{}, fails: []int{400}},
	"POST /api/v1/held/confirm": {id: "confirmHeld", summary: "Puts held records in force in the whole fleet", body: admin.ConfirmRequest{}, answer: admin.Confirmed{}, fails: []int{400, 404, 409, 413, 422}},

	"GET /api/v1/imports":                 {id: "listImports", summary: "The feeds of imported blocks, and what of them awaits confirmation", answer: admin.Imports{}},
	"POST /api/v1/imports/{name}/confirm": {id: "confirmImport", summary: "Puts the list of a feed in force that awaits confirmation", answer: admin.ImportFeed{}, fails: []int{404, 409}},

	"GET /api/v1/allow": {id: "listAllowances", summary: "Prefixes that are never blocked: those of the config, and those made at run time", answer: admin.AllowanceList{}, fails: []int{400}},
	"POST /api/v1/allow": {id: "addAllowance", summary: "Exempts a prefix from blocks",
		body: admin.AllowRequest{}, status: 201, answer: admin.Allowance{}, fails: []int{400, 409, 413, 422}},
	"DELETE /api/v1/allow": {id: "removeAllowances", summary: "Takes back what is left of an import of allowances: one change, with their list",
		query: []string{"batch", "dry_run", "reason"}, answer: admin.BulkLifted{}, fails: []int{400}},
	"POST /api/v1/allow/import": {id: "importAllowances", summary: "Allows up to 100,000 prefixes, with a result for each and a name for all",
		body: admin.BulkRequest{}, answer: admin.BulkDone{}, fails: []int{400, 413}},
	"DELETE /api/v1/allow/{prefix...}": {id: "removeAllowance", summary: "Removes an allowance that was made at run time",
		query: []string{"reason"}, answer: admin.Allowance{}, fails: []int{400, 404, 409}},

	"GET /api/v1/clients": {id: "listClients", summary: "Networks that are clients' though a source shows no others: those of the config, and those named at run time", answer: admin.ClientList{}, fails: []int{400}},
	"POST /api/v1/clients": {id: "addClient", summary: "Names a network as clients', on this node",
		body: admin.ClientRequest{}, status: 201, answer: admin.Client{}, fails: []int{400, 409, 413, 422}},
	"DELETE /api/v1/clients/{prefix...}": {id: "removeClient", summary: "Takes back that a network was named as clients'",
		query: []string{"reason"}, answer: admin.Client{}, fails: []int{400, 404, 409}},

	"GET /api/v1/explain/{address}":    {id: "explain", summary: "Why an address is blocked, or how near it is", answer: admin.Explanation{}, fails: []int{400}},
	"GET /api/v1/samples/{prefix...}":  {id: "getSamples", summary: "Some of the requests of a key that is blocked or near a limit. Requires a login, by default an operator's", answer: admin.SampleList{}, fails: []int{400, 404}},
	"GET /api/v1/evidence/{prefix...}": {id: "getEvidence", summary: "What a key had counted when this node blocked exactly this prefix", answer: admin.Evidence{}, fails: []int{400, 404}},
	"GET /api/v1/attacks": {id: "listAttacks", summary: "The attacks of a time, by default of the last hour: those that go on first, and then those of which most was refused",
		query: []string{"since", "until"}, answer: admin.AttackList{}, fails: []int{400}},
	"GET /api/v1/attacks/{id}": {id: "getAttack", summary: "An attack with its networks, and its blocks in force page by page. The ID of one that became part of another returns the other",
		query: []string{"limit", "cursor"}, answer: admin.AttackDetail{}, fails: []int{400, 404}},
	"GET /api/v1/audit":               {id: "listAudit", summary: "What operators changed by hand, the newest first. Requires a login", query: []string{"limit", "cursor"}, answer: admin.AuditPage{}, fails: []int{400}},
	"POST /api/v1/audit/{batch}/undo": {id: "undoMany", summary: "Puts back what a change of many lifted, while the node remembers it. Where something has happened to a prefix since, that stays", answer: admin.BulkRestored{}, fails: []int{404}},
	"GET /api/v1/history": {id: "listHistory", summary: "What happened, as far back as it is kept on disk, page by page: events, ends of blocks, operators' changes, crossings. Changes require a login",
		query: []string{"since", "until", "prefix", "rule", "kind", "dir", "limit", "cursor"}, answer: admin.PastPage{}, fails: []int{400}},
	"GET /api/v1/rates":                {id: "getRates", summary: "Requests, refusals and blocks of the last five minutes and the last hour", answer: admin.RateList{}},
	"GET /api/v1/rates/day":            {id: "getDay", summary: "Requests, refusals and blocks, by rule too, in each minute of the last day that the node ran. A minute that is missing was not measured", query: []string{"since", "until"}, answer: admin.RateDay{}, fails: []int{400}},
	"GET /api/v1/rules":                {id: "listRules", summary: "The rules in the order of the config", answer: admin.RuleList{}},
	"GET /api/v1/rules/{name}":         {id: "getRule", summary: "A rule with the distribution of its counts", query: []string{"limit"}, answer: admin.RuleDetail{}, fails: []int{400, 404}},
	"GET /api/v1/rules/{name}/outcome": {id: "getOutcome", summary: "What a threshold would do to what the keys count now", query: []string{"threshold"}, answer: admin.Outcome{}, fails: []int{400, 404}},
	"GET /api/v1/rules/{name}/history": {id: "getHistory", summary: "What the threshold in force and another one would have done in each window of the last day", query: []string{"hours", "threshold"}, answer: admin.RuleHistory{}, fails: []int{400, 404}},
	"GET /api/v1/rules/{name}/key":     {id: "explainKey", summary: "How near a key without an address is to the limit of a rule, with its newest crossings", query: []string{"with"}, answer: admin.KeyExplanation{}, fails: []int{400, 404}},
	"PATCH /api/v1/rules/{name}": {id: "setThreshold", summary: "Puts another threshold in force, on top of the config: on this node, or with scope fleet on all nodes",
		body: admin.ThresholdRequest{}, answer: admin.Rule{}, fails: []int{400, 404, 409, 413, 422, 500, 503}},
	"DELETE /api/v1/rules/{name}/overlay": {id: "endOverlay", summary: "Puts the config's threshold in force again: on this node, or with scope fleet on all nodes",
		query: []string{"scope", "force"}, answer: admin.Rule{}, fails: []int{400, 404, 409, 500, 503}},
	"PUT /api/v1/rules/{name}/candidates/{threshold}": {id: "addCandidate", summary: "Counts another threshold beside the one in force",
		body: admin.CandidateRequest{}, answer: admin.Rule{}, fails: []int{400, 404, 409, 413, 422, 500, 503}},
	"DELETE /api/v1/rules/{name}/candidates/{threshold}": {id: "removeCandidate", summary: "Ends a candidate that was added while the node ran", answer: admin.Rule{}, fails: []int{400, 404, 409, 500, 503}},
	"GET /api/v1/top": {id: "getTop", summary: "Keys nearest to a limit or furthest above it, and the newest blocks", query: []string{"limit"}, answer: admin.Top{}, fails: []int{400}},

	"GET /api/v1/bouncers": {id: "listBouncers", summary: "Bouncers of CrowdSec that enforce the node's blocks, and where they are told. Requires a login", answer: admin.BouncerList{}},
	"POST /api/v1/bouncers": {id: "addBouncer", summary: "Makes a bouncer's key, which is shown this once",
		body: admin.BouncerRequest{}, status: 201, answer: admin.BouncerKey{}, fails: []int{400, 409, 413, 500}},
	"DELETE /api/v1/bouncers/{name}": {id: "removeBouncer", summary: "Removes a bouncer's key", answer: admin.BouncerRemoved{}, fails: []int{404, 500}},

	"GET /api/v1/kernel":          {id: "getKernel", summary: "Whether the kernel's packet filter drops what is blocked. Requires a login", answer: admin.KernelState{}, fails: []int{404}},
	"POST /api/v1/kernel/try":     {id: "tryKernel", summary: "Has the packet filter drop what is blocked for a time, and then nothing unless that is confirmed", body: admin.TrialRequest{}, answer: admin.KernelState{}, fails: []int{400, 404, 409, 413, 500}},
	"POST /api/v1/kernel/confirm": {id: "confirmKernel", summary: "Keeps in force what a trial put in force", answer: admin.KernelState{}, fails: []int{404, 409, 500}},
	"POST /api/v1/kernel/clear":   {id: "clearKernel", summary: "Empties the packet filter until it is resumed", answer: admin.KernelState{}, fails: []int{404, 500}},
	"POST /api/v1/kernel/resume":  {id: "resumeKernel", summary: "Ends a pause of the packet filter", answer: admin.KernelState{}, fails: []int{404, 409, 500}},

	"GET /api/v1/fleet":       {id: "getFleet", summary: "The node's state in its fleet, and the fleet's nodes", answer: admin.FleetDetail{}, fails: []int{404}},
	"GET /api/v1/fleet/held":  {id: "getFleetHeld", summary: "Which other nodes hold records. The answer waits for their next heartbeats, six seconds at most", query: []string{"prefix"}, answer: admin.FleetHeld{}, fails: []int{400, 404, 503}},
	"POST /api/v1/fleet/sign": {id: "signRecords", summary: "Signs all records on the node's list by the fleet's key", body: admin.SignRequest{}, answer: admin.Signed{}, fails: []int{400, 409, 413}},
}

// parameters are those of the operations, by their names.
var parameters = map[string]object{
	"address":      {"in": "path", "description": "without port or zone", "example": "203.0.113.7", "schema": object{"type": "string"}},
	"prefix":       {"in": "path", "description": "an address or a prefix; its slash may be escaped or not", "example": "203.0.113.0/24", "schema": object{"type": "string"}},
	"id":           {"in": "path", "description": "an attack's ID", "example": "login_203.0.113.0_20260301T120000Z", "schema": object{"type": "string"}},
	"name":         {"in": "path", "description": "a rule's name", "example": "site", "schema": object{"type": "string"}},
	"batch":        {"in": "path", "description": "the name of a change of many", "example": "1x8k3qz", "schema": object{"type": "string"}},
	"threshold":    {"in": "path", "description": "a threshold", "example": "800", "schema": object{"type": "integer", "minimum": 1, "maximum": 65534}},
	"?with":        {"description": "the key's attributes, as crossings show them", "example": "path=/login", "schema": object{"type": "string"}},
	"?threshold":   {"description": "the threshold to try; required for an outcome", "schema": object{"type": "integer", "minimum": 1, "maximum": 65534}},
	"?hours":       {"description": "of how many hours", "schema": object{"type": "integer", "minimum": 1, "maximum": 24, "default": 24}},
	"?limit":       {"description": "how many", "schema": object{"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
	"?cursor":      {"description": "`next` of the previous page", "schema": object{"type": "string"}},
	"?rule":        {"description": "only of this rule; `manual` for those made by hand; of a watch, whose counts to send", "schema": object{"type": "string"}},
	"?origin":      {"description": "only of this node", "schema": object{"type": "string"}},
	"?made_by":     {"description": "only those that this node's rules made, an operator of this node, or another node", "schema": object{"type": "string", "enum": []string{"local", "manual", "fleet"}}},
	"?family":      {"description": "only of IPv4 or IPv6", "schema": object{"type": "string", "enum": []string{"ipv4", "ipv6"}}},
	"?proxied":     {"description": "only those that were learned from behind a trusted proxy, or only others", "schema": object{"type": "boolean"}},
	"?since_after": {"description": "only those that began after this time", "schema": object{"type": "string", "format": "date-time"}},
	"?batch":       {"description": "only those of the import with this name", "schema": object{"type": "string", "pattern": "^[0-9a-z]{1,7}$"}},
	"?attack":      {"description": "only those of the attack with this ID", "schema": object{"type": "string"}},
	"?seen":        {"description": "when somebody saw what matches: only those that began until then", "schema": object{"type": "string", "format": "date-time"}},
	"?all":         {"description": "all are meant, without another filter", "schema": object{"type": "boolean", "enum": []bool{true}}},
	"?dry_run":     {"description": "change nothing, and say what would be done", "schema": object{"type": "boolean"}},
	"?since":       {"description": "only from this time on", "schema": object{"type": "string", "format": "date-time"}},
	"?until":       {"description": "only before this time", "schema": object{"type": "string", "format": "date-time"}},
	"?order":       {"description": "by prefix, the newest first, by the end, by the count of the crossing, or by how much was refused or when last", "schema": object{"type": "string", "enum": []string{"prefix", "newest", "ends", "count", "refused", "last_refused"}, "default": "prefix"}},
	"?dir":         {"description": "the direction; without it `newest` and `count` begin with the greatest, the others with the least", "schema": object{"type": "string", "enum": []string{"asc", "desc"}}},
	"?prefix":      {"description": "only inside this prefix; of what other nodes hold, exactly this one; what to watch, up to 100 times", "schema": object{"type": "string"}},
	"?contains":    {"description": "only those that contain this address", "schema": object{"type": "string"}},
	"?owner":       {"description": "a program whose blocks are meant, such as fail2ban", "schema": object{"type": "string", "maxLength": 32, "pattern": "^[A-Za-z0-9._-]+$"}},
	"?reason":      {"description": "one line of at most 256 bytes", "schema": object{"type": "string", "maxLength": 256}},
	"?kind":        {"description": "only events of these kinds, with commas between them", "schema": object{"type": "string"}},
	"?slots":       {"description": "how many of the newest slots to send", "schema": object{"type": "integer", "minimum": 1, "maximum": 60, "default": 3}},
	"?once":        {"description": "one message as JSON instead of a stream", "schema": object{"type": "boolean"}},
	"?scope":       {"description": "node, which is the default, or fleet: all nodes", "schema": object{"type": "string", "enum": []string{"node", "fleet"}}},
	"?force":       {"description": "no node waits for a confirmation", "schema": object{"type": "boolean"}},
	"?seconds":     {"description": "for how long", "schema": object{"type": "integer", "minimum": 1}},
	"?after":       {"description": "continues behind the event of this ID, as the header Last-Event-ID; 0 begins with all that is kept", "schema": object{"type": "string"}},
}
