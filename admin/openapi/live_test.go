package openapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

// nodeConfig has every part that an answer can show.
const nodeConfig = `
node: a
state: $DIR/state
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock", "%s"]}
allowlist: [198.51.100.0/24]
rules:
  - {name: site, threshold: 20, guard: 1, candidates: [10, 15], escalate: [1h]}
  - {name: hosts, threshold: 20, key: {with: [host]}, action: shadow}
  - {name: together, threshold: 20000, key: {address: none, with: [path]}, action: shadow}
sensors: {accesslog: [{file: $DIR/access.log, format: combined, emit: response}]}
enforce: {files: [{file: $DIR/geo.conf, format: nginx-geo}]}
fleet: {redis: "redis://%s", namespace: test, key_file: $DIR/fleet.key}
`

// liveNode is a running node, and what it says of its API.
type liveNode struct {
	*validator
	t      *testing.T
	admin  *http.Client
	node   *program.Process
	called map[string]bool // the operations that succeeded
}

func startServer(t *testing.T) *liveNode {
	t.Helper()
	store := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), store.Client()); err != nil {
		t.Fatal(err)
	}
	n := program.NewNode(t, fmt.Sprintf(nodeConfig, program.Address(t), store.Addr))
	programHere, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	key, err := exec.CommandContext(t.Context(), programHere, "fleet", "key").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"fleet.key": key, "access.log": nil} {
		if err := os.WriteFile(n.Path(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.Launch()
	t.Cleanup(n.Stop)
	s := &liveNode{t: t, node: n, called: make(map[string]bool), validator: new(validator)}
	s.admin = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", n.Path("admin.sock"))
	}}}
	t.Cleanup(s.admin.CloseIdleConnections)
	n.Until("the node is ready and in its fleet", func() bool {
		answer, err := s.admin.Get("http://node/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode == http.StatusOK && !strings.Contains(string(text), "fleet")
	})
	answer := s.send("GET", "/api/v1/openapi.json", "")
	s.document = parse(t, answer.body)
	return s
}

// answer is one answer, read to its end.
type answer struct {
	status int
	media  string
	body   []byte
}

func (s *liveNode) send(method, path, body string) answer {
	s.t.Helper()
	return s.sendFor("", method, path, body)
}

// sendFor asks for an answer of a type.
func (s *liveNode) sendFor(accept, method, path, body string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, "http://node"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" || method != "GET" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", accept)
	got, err := s.admin.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	media, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
	return answer{got.StatusCode, media, text}
}

// call sends a request and compares the answer with the document. route is as
// in the document.
func (s *liveNode) call(route, path, body string, status int) []byte {
	s.t.Helper()
	method, _, _ := strings.Cut(route, " ")
	got := s.send(method, path, body)
	if got.status != status {
		s.t.Errorf("%s %s: %d, want %d: %s", method, path, got.status, status, got.body)
		return nil
	}
	s.compare(route, got)
	return got.body
}

func (s *liveNode) compare(route string, got answer) {
	s.t.Helper()
	o, ok := operationsOf(s.document)[route]
	if !ok {
		s.t.Fatalf("%s is not in the document", route)
	}
	response, ok := o["responses"].(map[string]value)[strconv.Itoa(got.status)].(map[string]value)
	if !ok {
		s.t.Errorf("%s: the document has no status %d: %s", route, got.status, got.body)
		return
	}
	if ref, ok := response["$ref"].(string); ok {
		response = s.resolve(ref)
	}
	media, ok := response["content"].(map[string]value)[got.media].(map[string]value)
	if !ok {
		s.t.Errorf("%s: %d is of type %q, which the document does not have", route, got.status, got.media)
		return
	}
	s.called[route] = s.called[route] || got.status < 300
	schema, ok := media["schema"].(map[string]value)
	if !ok {
		return // not JSON of a type
	}
	var body value
	if err := json.Unmarshal(got.body, &body); err != nil {
		s.t.Errorf("%s: %v: %s", route, err, got.body)
		return
	}
	for _, wrong := range s.check(route, schema, body) {
		s.t.Errorf("%s\n%s", wrong, got.body)
	}
}

// ask asks forward auth about a client, a number of times.
func (s *liveNode) ask(client string, times int) {
	s.t.Helper()
	conn, err := net.Dial("unix", s.node.Path("auth.sock"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for range times {
		if _, err := fmt.Fprintf(conn, "GET /auth/nginx HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: %s\r\nX-Original-URI: /\r\nX-Original-Method: GET\r\n\r\n", client); err != nil {
			s.t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

// Every operation, called on a real node, answers and fails as the document
// says, and no field is missing there.
func TestAnswers(t *testing.T) {
	s := startServer(t)
	s.ask("203.0.113.9", 30)
	s.ask("2001:db8::1", 15)
	const block, allow, explain = "/api/v1/blocks/{prefix}", "/api/v1/allow/{prefix}", "GET /api/v1/explain/{address}"
	const client = "/api/v1/clients/{prefix}"
	const candidate = "/api/v1/rules/{name}/candidates/{threshold}"
	for _, c := range []struct {
		route, path, body string
		status            int
	}{
		{"GET /healthz", "/healthz", "", 200},
		{"GET /readyz", "/readyz", "", 200},
		{"GET /metrics", "/metrics", "", 200},
		{"GET /debug/pprof/", "/debug/pprof/", "", 200},
		{"GET /debug/pprof/cmdline", "/debug/pprof/cmdline", "", 200},
		{"GET /debug/pprof/symbol", "/debug/pprof/symbol", "", 200},
		{"GET /debug/pprof/profile", "/debug/pprof/profile?seconds=1", "", 200},
		{"GET /debug/pprof/trace", "/debug/pprof/trace?seconds=1", "", 200},
		{"GET /api/v1/openapi.json", "/api/v1/openapi.json", "", 200},
		{"POST /api/v1/reload", "/api/v1/reload", "{}", 200},
		{"POST /api/v1/login-links", "/api/v1/login-links", "", 201},
		{"DELETE /api/v1/sessions", "/api/v1/sessions", "", 200},
		{"GET /api/v1/status", "/api/v1/status", "", 200},

		{"GET /api/v1/blocks", "/api/v1/blocks", "", 200},
		{"GET /api/v1/blocks", "/api/v1/blocks?limit=1&rule=site", "", 200},
		{"GET /api/v1/blocks", "/api/v1/blocks?limit=many", "", 400},
		{"POST /api/v1/blocks", "/api/v1/blocks", `{"prefix":"203.0.113.77","for":"2h","reason":"test"}`, 201},
		{"POST /api/v1/blocks", "/api/v1/blocks", `{"prefix":"203.0.113.77","for":"1h"}`, 409},
		{"POST /api/v1/blocks", "/api/v1/blocks", `{"prefix":"127.0.0.1"}`, 422},
		{"POST /api/v1/blocks", "/api/v1/blocks", `{"prefix":7}`, 400},
		{"POST /api/v1/blocks", "/api/v1/blocks", strings.Repeat(" ", 65<<10) + "{}", 413},
		{"GET " + block, "/api/v1/blocks/203.0.113.77", "", 200},
		{"GET " + block, "/api/v1/blocks/203.0.113.77/32", "", 200},
		{"GET " + block, "/api/v1/blocks/203.0.113.77%2f32", "", 200},
		{"GET " + block, "/api/v1/blocks/203.0.113.78", "", 404},
		{"GET " + block, "/api/v1/blocks/nothing", "", 400},
		{"PATCH " + block, "/api/v1/blocks/203.0.113.77", `{"for":"3h"}`, 200},
		{"PATCH " + block, "/api/v1/blocks/203.0.113.77", `{}`, 400},
		{"PATCH " + block, "/api/v1/blocks/203.0.113.78", `{"for":"3h"}`, 404},
		{explain, "/api/v1/explain/203.0.113.77", "", 200},
		{"POST /api/v1/blocks", "/api/v1/blocks", `{"prefix":"203.0.113.79","owner":"fail2ban"}`, 201},
		{"POST /api/v1/blocks", "/api/v1/blocks", `{"prefix":"203.0.113.79","owner":"fail2ban","force":true}`, 400},
		{"GET /api/v1/blocks", "/api/v1/blocks?owner=fail2ban", "", 200},
		{"POST /api/v1/blocks/import", "/api/v1/blocks/import", `{"blocks":[{"prefix":"203.0.113.80","for":"1h"},{"prefix":"127.0.0.1"},{"prefix":"x"}]}`, 200},
		{"POST /api/v1/blocks/import", "/api/v1/blocks/import", `{"blocks":[]}`, 400},
		{"DELETE /api/v1/blocks", "/api/v1/blocks?rule=gone&reason=test", "", 200},
		{"DELETE /api/v1/blocks", "/api/v1/blocks", "", 400},
		{"POST /api/v1/blocks/import", "/api/v1/blocks/import", strings.Repeat(" ", 32<<20) + "{}", 413},
		{"DELETE " + block, "/api/v1/blocks/203.0.113.77?owner=fail2ban", "", 409},
		{"DELETE " + block, "/api/v1/blocks/203.0.113.79?owner=fail2ban", "", 200},
		{"DELETE " + block, "/api/v1/blocks/203.0.113.77?reason=test", "", 200},
		{"DELETE " + block, "/api/v1/blocks/203.0.113.77", "", 404},

		{"POST /api/v1/allow", "/api/v1/allow", `{"prefix":"192.0.2.128/25","for":"2h","reason":"test"}`, 201},
		{"POST /api/v1/allow", "/api/v1/allow", `{"prefix":"192.0.2.128/25","for":"1h"}`, 409},
		{"POST /api/v1/allow", "/api/v1/allow", `{"prefix":"10.0.0.0/7"}`, 422},
		{"POST /api/v1/allow", "/api/v1/allow", `{}`, 400},
		{"GET /api/v1/allow", "/api/v1/allow", "", 200},
		{"POST /api/v1/allow/import", "/api/v1/allow/import", `{"blocks":[{"prefix":"192.0.2.9"},{"prefix":"192.0.2.128/25","for":"1h"},{"prefix":"x"}]}`, 200},
		{"POST /api/v1/allow/import", "/api/v1/allow/import", `{"blocks":[]}`, 400},
		{"POST /api/v1/allow/import", "/api/v1/allow/import", strings.Repeat(" ", 32<<20) + "{}", 413},
		{"DELETE /api/v1/allow", "/api/v1/allow?batch=1z&dry_run=true", "", 200},
		{"DELETE /api/v1/allow", "/api/v1/allow", "", 400},
		{"DELETE " + allow, "/api/v1/allow/192.0.2.128/25", "", 200},
		{"DELETE " + allow, "/api/v1/allow/192.0.2.128/25", "", 404},
		{"DELETE " + allow, "/api/v1/allow/198.51.100.0/24", "", 409},
		{"DELETE " + allow, "/api/v1/allow/nothing", "", 400},

		{"POST /api/v1/clients", "/api/v1/clients", `{"prefix":"10.1.0.0/16","reason":"test"}`, 201},
		{"POST /api/v1/clients", "/api/v1/clients", `{"prefix":"10.0.0.0/7"}`, 422},
		{"POST /api/v1/clients", "/api/v1/clients", `{"prefix":"10.1.2.0/16"}`, 400},
		{"GET /api/v1/clients", "/api/v1/clients", "", 200},
		{"DELETE " + client, "/api/v1/clients/10.1.0.0/16?reason=test", "", 200},
		{"DELETE " + client, "/api/v1/clients/10.1.0.0/16", "", 404},

		{"GET /api/v1/held", "/api/v1/held", "", 200},
		{"POST /api/v1/held/confirm", "/api/v1/held/confirm", `{"all":true}`, 200},
		{"POST /api/v1/held/confirm", "/api/v1/held/confirm", `{}`, 400},
		{"POST /api/v1/held/confirm", "/api/v1/held/confirm", `{"prefixes":["203.0.113.78"]}`, 404},

		{"GET /api/v1/imports", "/api/v1/imports", "", 200},
		{"POST /api/v1/imports/{name}/confirm", "/api/v1/imports/drop/confirm", "", 404},

		{explain, "/api/v1/explain/203.0.113.9", "", 200},
		{explain, "/api/v1/explain/2001:db8::1", "", 200},
		{explain, "/api/v1/explain/198.51.100.7", "", 200},
		{explain, "/api/v1/explain/nothing", "", 400},
		{"GET /api/v1/evidence/{prefix}", "/api/v1/evidence/203.0.113.9", "", 200},
		{"GET /api/v1/evidence/{prefix}", "/api/v1/evidence/203.0.113.9/32", "", 200},
		{"GET /api/v1/evidence/{prefix}", "/api/v1/evidence/203.0.113.10", "", 404},
		{"GET /api/v1/evidence/{prefix}", "/api/v1/evidence/nothing", "", 400},
		{"GET /api/v1/samples/{prefix}", "/api/v1/samples/203.0.113.9", "", 200},
		{"GET /api/v1/samples/{prefix}", "/api/v1/samples/203.0.113.10", "", 404},
		{"GET /api/v1/samples/{prefix}", "/api/v1/samples/nothing", "", 400},
		{"GET /api/v1/rules", "/api/v1/rules", "", 200},
		{"GET /api/v1/rules/{name}", "/api/v1/rules/site", "", 200},
		{"GET /api/v1/rules/{name}", "/api/v1/rules/nothing", "", 404},
		{"GET /api/v1/rules/{name}/key", "/api/v1/rules/site/key?with=path=/login", "", 404},
		{"GET /api/v1/rules/{name}/key", "/api/v1/rules/together/key?with=path=/login", "", 200},
		{"GET /api/v1/rules/{name}/key", "/api/v1/rules/site/key?path=/login", "", 400},
		{"GET /api/v1/rules/{name}", "/api/v1/rules/site?limit=0", "", 400},
		{"GET /api/v1/rates", "/api/v1/rates", "", 200},
		{"GET /api/v1/audit", "/api/v1/audit?limit=1", "", 200},
		{"GET /api/v1/audit", "/api/v1/audit?cursor=x", "", 400},
		{"POST /api/v1/audit/{batch}/undo", "/api/v1/audit/1x8k3qz/undo", "", 404},
		{"GET /api/v1/history", "/api/v1/history?since=2026-01-01T00:00:00Z&prefix=203.0.113.0/24&dir=asc", "", 200},
		{"GET /api/v1/history", "/api/v1/history?limit=1000", "", 200},
		{"GET /api/v1/attacks", "/api/v1/attacks", "", 200},
		{"GET /api/v1/attacks", "/api/v1/attacks?since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z", "", 200},
		{"GET /api/v1/attacks", "/api/v1/attacks?since=noon", "", 400},
		{"GET /api/v1/attacks/{id}", "/api/v1/attacks/site_203.0.113.0_20260301T120000Z", "", 404},
		{"GET /api/v1/attacks/{id}", "/api/v1/attacks/site?cursor=x", "", 400},
		{"GET /api/v1/rates/day", "/api/v1/rates/day?since=2026-01-01T00:00:00Z", "", 200},
		{"GET /api/v1/rates/day", "/api/v1/rates/day?since=noon", "", 400},
		{"GET /api/v1/history", "/api/v1/history?until=noon", "", 400},
		{"GET /api/v1/rules/{name}/outcome", "/api/v1/rules/site/outcome?threshold=10", "", 200},
		{"GET /api/v1/rules/{name}/outcome", "/api/v1/rules/nothing/outcome?threshold=10", "", 404},
		{"GET /api/v1/rules/{name}/outcome", "/api/v1/rules/site/outcome", "", 400},
		{"PATCH /api/v1/rules/{name}", "/api/v1/rules/site", `{"threshold":30,"if_threshold":20,"note":"test"}`, 200},
		{"GET /api/v1/rules", "/api/v1/rules", "", 200},
		{"PATCH /api/v1/rules/{name}", "/api/v1/rules/site", `{"threshold":30,"if_threshold":20}`, 409},
		{"PATCH /api/v1/rules/{name}", "/api/v1/rules/site", `{"threshold":99999,"if_threshold":30}`, 422},
		{"PATCH /api/v1/rules/{name}", "/api/v1/rules/site", `{"threshold":30}`, 400},
		{"PATCH /api/v1/rules/{name}", "/api/v1/rules/nothing", `{"threshold":30,"if_threshold":20}`, 404},
		{"PUT " + candidate, "/api/v1/rules/site/candidates/25", `{"note":"test"}`, 200},
		{"PUT " + candidate, "/api/v1/rules/site/candidates/30", `{}`, 409},
		{"PUT " + candidate, "/api/v1/rules/site/candidates/many", `{}`, 400},
		{"PUT " + candidate, "/api/v1/rules/nothing/candidates/25", `{}`, 404},
		{"DELETE " + candidate, "/api/v1/rules/site/candidates/25", "", 200},
		{"DELETE " + candidate, "/api/v1/rules/site/candidates/25", "", 404},
		{"DELETE " + candidate, "/api/v1/rules/site/candidates/10", "", 409},
		{"DELETE " + candidate, "/api/v1/rules/site/candidates/many", "", 400},
		{"DELETE /api/v1/rules/{name}/overlay", "/api/v1/rules/site/overlay", "", 200},
		{"DELETE /api/v1/rules/{name}/overlay", "/api/v1/rules/site/overlay", "", 404},
		{"DELETE /api/v1/rules/{name}/overlay", "/api/v1/rules/site/overlay?scope=fleet&force=true", "", 409},
		{"DELETE /api/v1/rules/{name}/overlay", "/api/v1/rules/site/overlay?scope=all", "", 400},
		{"PATCH /api/v1/rules/{name}", "/api/v1/rules/site", `{"threshold":30,"if_threshold":20,"scope":"fleet"}`, 409},
		{"PATCH /api/v1/rules/{name}", "/api/v1/rules/site", `{"threshold":30,"if_threshold":20,"scope":"all"}`, 400},
		{"GET /api/v1/rules/{name}/history", "/api/v1/rules/site/history?hours=3&threshold=10", "", 200},
		{"GET /api/v1/rules/{name}/history", "/api/v1/rules/site/history", "", 200},
		{"GET /api/v1/rules/{name}/history", "/api/v1/rules/nothing/history", "", 404},
		{"GET /api/v1/rules/{name}/history", "/api/v1/rules/site/history?hours=25", "", 400},
		{"GET /api/v1/top", "/api/v1/top", "", 200},
		{"GET /api/v1/top", "/api/v1/top?limit=0", "", 400},

		{"GET /api/v1/bouncers", "/api/v1/bouncers", "", 200},
		{"POST /api/v1/bouncers", "/api/v1/bouncers", `{"name":"edge1"}`, 201},
		{"POST /api/v1/bouncers", "/api/v1/bouncers", `{"name":"edge1"}`, 409},
		{"POST /api/v1/bouncers", "/api/v1/bouncers", `{"name":"edge 1"}`, 400},
		{"GET /api/v1/bouncers", "/api/v1/bouncers", "", 200},
		{"DELETE /api/v1/bouncers/{name}", "/api/v1/bouncers/edge1", "", 200},
		{"DELETE /api/v1/bouncers/{name}", "/api/v1/bouncers/edge1", "", 404},
		{"GET /api/v1/fleet", "/api/v1/fleet", "", 200},
		{"GET /api/v1/fleet/held", "/api/v1/fleet/held?prefix=203.0.113.0/24", "", 200},
		{"POST /api/v1/fleet/sign", "/api/v1/fleet/sign", `{"yes":true}`, 200},
		{"GET /api/v1/events", "/api/v1/events?kind=nothing", "", 400},
		{"GET /api/v1/watch", "/api/v1/watch?once=true&prefix=203.0.113.9&prefix=2001:db8::/64&prefix=198.51.100.7", "", 200},
		{"GET /api/v1/watch", "/api/v1/watch?slots=61", "", 400},
	} {
		s.call(c.route, c.path, c.body, c.status)
	}
	var list admin.AttackList
	if err := json.Unmarshal(s.call("GET /api/v1/attacks", "/api/v1/attacks", "", 200), &list); err != nil || len(list.Attacks) == 0 {
		t.Fatalf("%v: %+v", err, list)
	}
	s.call("GET /api/v1/attacks/{id}", "/api/v1/attacks/"+list.Attacks[0].ID, "", 200)
	s.call("POST /api/v1/blocks", "/api/v1/blocks", `{"prefix":"203.0.113.81"}`, 201)
	var lifted admin.BulkLifted
	if err := json.Unmarshal(s.call("DELETE /api/v1/blocks", "/api/v1/blocks?prefix=203.0.113.81", "", 200), &lifted); err != nil || lifted.Batch == 0 {
		t.Fatalf("%v: %+v", err, lifted)
	}
	s.call("POST /api/v1/audit/{batch}/undo", "/api/v1/audit/"+lifted.Batch.String()+"/undo", "", 200)
	s.called["POST /api/v1/imports/{name}/confirm"] = true // that a list awaits it takes a server of lists: node/blocklists
	s.packetFilter()
	s.stream()
	for route := range operationsOf(s.document) {
		if !s.called[route] {
			t.Errorf("%s was not called: add it to the table above", route)
		}
	}
	s.refusals()
	s.exports()
}

// packetFilter calls the routes of the packet filter on a node in a network of its own,
// which has one. Where there can be no such network they count as called.
func (s *liveNode) packetFilter() {
	s.t.Helper()
	type request struct {
		route, body string
		status      int
	}
	requests := []request{
		{"GET /api/v1/kernel", "", 200},
		{"POST /api/v1/kernel/resume", "", 200},
		{"POST /api/v1/kernel/try", `{"for":"1h","spare":["203.0.113.9"]}`, 200},
		{"GET /api/v1/kernel", "", 200},
		{"POST /api/v1/kernel/resume", "", 409},
		{"POST /api/v1/kernel/confirm", "", 200},
		{"POST /api/v1/kernel/clear", "", 200},
		{"GET /api/v1/kernel", "", 200},
		{"POST /api/v1/kernel/confirm", "", 409},
		{"POST /api/v1/kernel/try", `{"for":"1"}`, 400},
	}
	for _, r := range requests {
		_, path, _ := strings.Cut(r.route, " ")
		s.call(r.route, path, r.body, map[int]int{200: 404, 409: 404, 400: 400}[r.status])
	}
	if out, err := exec.CommandContext(s.t.Context(), "unshare", "--net", "nft", "list", "ruleset").CombinedOutput(); err != nil {
		s.t.Logf("no packet filter of the test's own here: %v: %s", err, out)
		for _, r := range requests {
			s.called[r.route] = true
		}
		return
	}
	n := program.NewNode(s.t, `{state: $DIR/state, listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}, enforce: {nftables: {}}}`)
	programHere, err := program.Build()
	if err != nil {
		s.t.Fatal(err)
	}
	n.Program, n.Args = "unshare", []string{"--net", programHere, "serve", "--config", n.Path("config.yaml")}
	n.Launch()
	defer n.Stop()
	before := s.admin
	defer func() { s.admin = before }()
	s.admin = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", n.Path("admin.sock"))
	}}}
	defer s.admin.CloseIdleConnections()
	n.Until("the node has its table", func() bool {
		answer, err := s.admin.Get("http://node/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	for _, r := range requests {
		_, path, _ := strings.Cut(r.route, " ")
		s.call(r.route, path, r.body, r.status)
	}
}

// stream compares events, from the node's start on, until each kind that this
// node has had was there.
func (s *liveNode) stream() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://node/api/v1/events?after=an-earlier-run", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	got, err := s.admin.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	s.compare("GET /api/v1/events", answer{status: got.StatusCode, media: got.Header.Get("Content-Type")})
	s.ask("203.0.113.10", 30) // makes a block
	want := []string{"block"}
	for lines := bufio.NewScanner(got.Body); len(want) > 0 && lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		event := parse(s.t, []byte(text))
		if kind, ok := event["kind"].(string); ok {
			for _, wrong := range s.check("event", s.resolve("#/components/schemas/Event"), event) {
				s.t.Errorf("%s\n%s", wrong, text)
			}
			want = slices.DeleteFunc(want, func(k string) bool { return k == kind })
		}
	}
	if len(want) > 0 {
		s.t.Errorf("the stream ended without %v", want)
	}
}

// exports asks for the blocks as other types, each of which the document has.
func (s *liveNode) exports() {
	s.t.Helper()
	for _, media := range []string{"text/csv", "application/x-ndjson"} {
		got := s.sendFor(media, "GET", "/api/v1/blocks", "")
		if s.compare("GET /api/v1/blocks", got); got.status != http.StatusOK || got.media != media || !strings.Contains(string(got.body), "203.0.113.9/32") {
			s.t.Errorf("%s: %+v: %s", media, got.status, got.body)
		}
	}
}

// refusals compares the parameters and fields of the document with those that
// the node accepts: it refuses others, and names what it knows.
func (s *liveNode) refusals() {
	s.t.Helper()
	for route, o := range operationsOf(s.document) {
		method, path, _ := strings.Cut(route, " ")
		if !strings.HasPrefix(path, "/api/") {
			continue
		}
		path = strings.NewReplacer("{prefix}", "203.0.113.99", "{address}", "203.0.113.99", "{name}", "site").Replace(path)
		if o["requestBody"] != nil {
			got := s.send(method, path, `{"no_such_field":1}`)
			if p := problemOf(got.body); got.status != 400 || p.Field != "no_such_field" {
				s.t.Errorf("%s with an unknown field: %d %s", route, got.status, got.body)
			}
			continue
		}
		if method == "POST" {
			continue
		}
		got := s.send(method, path+"?no_such_parameter=1", "")
		accepted := []string{}
		if names, ok := strings.CutPrefix(problemOf(got.body).Fix, "use one of "); ok {
			accepted = strings.Split(names, ", ")
		}
		described := []string{}
		parameters, _ := o["parameters"].([]value)
		for _, p := range parameters {
			if p := p.(map[string]value); p["in"] == "query" {
				described = append(described, p["name"].(string))
			}
		}
		slices.Sort(accepted)
		slices.Sort(described)
		if !slices.Equal(accepted, described) {
			s.t.Errorf("%s: the document has the parameters %v, the node %v: change admin/openapi/operations.go", route, described, accepted)
		}
	}
}

func problemOf(body []byte) (p struct{ Field, Fix string }) {
	_ = json.Unmarshal(body, &p) // an answer that is not a problem has neither
	return p
}
