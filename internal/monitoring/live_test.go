package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// patience bounds the wait for something that must happen. Nothing is measured
// by it.
const patience = 90 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

// nodeConfig has everything switched on.
const nodeConfig = `
node: %s
state: $DIR/state
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
rules:
  - {name: site, threshold: 20, guard: 1, candidates: [10, 15]}
  - {name: errors, threshold: 20, match: {status: [404]}, action: shadow}
sensors:
  accesslog:
    - {file: $DIR/access.log, format: combined, emit: response}
    - {listen: "unixgram:$DIR/log.sock", format: combined, emit: response}
enforce:
  files:
    - {file: $DIR/geo.conf, format: nginx-geo}
    - {file: $DIR/blocked.txt, format: plain, kernel: true}
crawlers: [{name: googlebot, dns: googlebot.example}]
blocklists: [{name: drop, file: $DIR/drop.txt}]
notify: {webhooks: [{name: team, url: "%s", every: 10s}]}
fleet: {redis: "redis://%s", namespace: test, max_nodes: 2}
`

// watched is a node that Prometheus scrapes.
type watched struct {
	*program.Process
	admin  *http.Client
	scrape string // host:port at which its admin API answers
}

// startNode runs a node until the test ends. Prometheus reaches it through a
// proxy with a port of the kernel's choice: a port that the config names could
// be taken by another test.
func startNode(t *testing.T, name, store string) *watched {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	n := &watched{Process: program.NewNode(t, fmt.Sprintf(nodeConfig, name, receiver.URL, store))}
	for file, content := range map[string]string{
		"access.log": "",
		"drop.txt":   "5.6.7.8\n9.0.0.0/8\n", // the second is too wide
	} {
		if err := os.WriteFile(n.Path(file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n.Launch()
	t.Cleanup(n.Stop)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", n.Path("admin.sock"))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	n.admin = &http.Client{Transport: transport}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "node"
	}})
	t.Cleanup(proxy.Close)
	n.scrape = proxy.Listener.Addr().String()
	n.Until(name+" is ready and in its fleet", func() bool {
		text, err := n.get("/readyz")
		return err == nil && strings.Contains(text, `"ready":true`) && !strings.Contains(text, "fleet")
	})
	return n
}

func (n *watched) get(path string) (string, error) {
	answer, err := n.admin.Get("http://node" + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// change sends a change to the admin API.
func (n *watched) change(t *testing.T, method, path, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://node"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := n.admin.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
}

// traffic sends requests and log lines until the test ends: a client over the
// limit, IPv6 networks over theirs, and ordinary ones.
func (n *watched) traffic(t *testing.T) {
	t.Helper()
	conn, err := net.Dial("unix", n.Path("auth.sock"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(n.Path("access.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- n.send(t.Context(), conn, log) }()
	t.Cleanup(func() { // t.Context is done by now
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_, _ = conn.Close(), log.Close()
	})
}

func (n *watched) send(ctx context.Context, conn net.Conn, log io.Writer) error {
	answers := bufio.NewReader(conn)
	for i := 0; ctx.Err() == nil; i++ {
		for _, client := range []string{
			"203.0.113.9", fmt.Sprintf("198.51.100.%d", i%200), fmt.Sprintf("2001:db8:0:%x::1", i%24),
		} {
			if _, err := fmt.Fprintf(conn, "GET /auth/nginx HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: %s\r\nX-Original-URI: /\r\nX-Original-Method: GET\r\n\r\n", client); err != nil {
				return err
			}
			answer, err := http.ReadResponse(answers, nil)
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
		if _, err := fmt.Fprintf(log, "198.51.100.7 - - [%s] \"GET / HTTP/1.1\" 404 12 \"-\" \"curl\"\n", time.Now().Format("02/Jan/2006:15:04:05 -0700")); err != nil {
			return err
		}
		select { // a pace, so that other tests find a processor
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// database is a running Prometheus.
type database struct {
	t   *testing.T
	api string
}

// startPrometheus runs one until the test ends, with the config that
// docs/operations.md shows.
func startPrometheus(t *testing.T, nodes ...*watched) *database {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed (Debian: apt-get install prometheus)")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	for file, content := range map[string]string{
		config: documentedConfig(t, dir, nodes), filepath.Join(dir, "token"): "0123456789abcdef", filepath.Join(dir, "rules.yml"): rulesFile(runbooks),
	} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(path, "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", "127.0.0.1:0")
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	listens, ended := make(chan string, 1), make(chan string, 1)
	go func() { ended <- follow(said, listens) }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		text := <-ended
		_ = c.Wait()
		if t.Failed() {
			t.Logf("what Prometheus said:\n%s", text)
		}
	})
	select {
	case address := <-listens:
		return &database{t, "http://" + address + "/api/v1/"}
	case text := <-ended:
		ended <- text
		t.Fatal("Prometheus ended")
	case <-time.After(patience):
		t.Fatal("Prometheus does not listen")
	}
	return nil
}

var listeningOn = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// follow reads what Prometheus says to its end, and sends the address that it
// listens on.
func follow(said io.Reader, listens chan<- string) string {
	var all strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if found := listeningOn.FindStringSubmatch(lines.Text()); found != nil {
			listens <- found[1]
		}
	}
	return all.String()
}

var yamlBlock = regexp.MustCompile("(?s)```yml\n(scrape_configs:.*?)```")

// documentedConfig is that of the page with the test's addresses, paths and
// pace.
func documentedConfig(t *testing.T, dir string, nodes []*watched) string {
	t.Helper()
	page, err := os.ReadFile("../../" + runbooks)
	if err != nil {
		t.Fatal(err)
	}
	found := yamlBlock.FindStringSubmatch(string(page))
	if found == nil {
		t.Fatalf("%s has no scrape_configs", runbooks)
	}
	config := "global: {evaluation_interval: 1s}\n" + found[1]
	for old, with := range map[string]string{
		"scrape_interval: 15s":                "scrape_interval: 1s",
		"/etc/prometheus/edgeguard.token":     filepath.Join(dir, "token"),
		"/etc/prometheus/edgeguard-rules.yml": filepath.Join(dir, "rules.yml"),
		`"10.0.0.7:9190", "10.0.0.8:9190"`:    fmt.Sprintf("%q, %q", nodes[0].scrape, nodes[1].scrape),
	} {
		if !strings.Contains(config, old) {
			t.Fatalf("the config of %s has no %q", runbooks, old)
		}
		config = strings.ReplaceAll(config, old, with)
	}
	return config
}

// ask reads data of the API. It fails where Prometheus does not accept the
// question.
func (d *database) ask(path string, parameters url.Values, data any) {
	d.t.Helper()
	answer, err := http.Get(d.api + path + "?" + parameters.Encode())
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusServiceUnavailable {
		return // it is still starting: no data yet
	}
	var body struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		d.t.Fatal(err)
	}
	if body.Status != "success" {
		d.t.Fatalf("%s %v: %s", path, parameters, body.Error)
	}
	if err := json.Unmarshal(body.Data, data); err != nil {
		d.t.Fatalf("%s: %v in %s", path, err, body.Data)
	}
}

// filled are the board's variables as Grafana fills them in, at this test's pace.
var filled = strings.NewReplacer("$job", "edgeguard", "$instance", ".*", "$rule", ".*", "$__rate_interval", "20s")

// has reports whether a query has a value now.
func (d *database) has(expr string) bool {
	d.t.Helper()
	var data struct{ Result []struct{ Value [2]any } }
	d.ask("query", url.Values{"query": {filled.Replace(expr)}}, &data)
	for _, series := range data.Result {
		text, _ := series.Value[1].(string)
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
			return true
		}
	}
	return false
}

func (d *database) until(what string, holds func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("never: %s", what)
		}
	}
}

// A real Prometheus scrapes two nodes of a fleet with everything switched on: no
// panel of the board is empty, and all rules are healthy and silent.
func TestLive(t *testing.T) {
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("prometheus is not installed (Debian: apt-get install prometheus)")
	}
	store := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), store.Client()); err != nil {
		t.Fatal(err)
	}
	a, b := startNode(t, "a", store.Addr), startNode(t, "b", store.Addr)
	for _, n := range []*watched{a, b} {
		n.traffic(t)
		n.change(t, "POST", "/api/v1/reload", "{}")
	}
	a.change(t, "POST", "/api/v1/blocks", `{"prefix":"203.0.113.77"}`)
	a.change(t, "DELETE", "/api/v1/blocks/203.0.113.77", "")
	d := startPrometheus(t, a, b)

	board := newDashboard()
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			d.until(fmt.Sprintf("panel %q has data: %s", p.Title, target.Expr), func() bool { return d.has(target.Expr) })
		}
	}
	for _, annotation := range board.Annotations.List {
		d.has(annotation.Target.Expr) // it may be empty, and must be accepted
	}
	for _, v := range board.Templating.List {
		if query, ok := strings.CutPrefix(v.Query, "label_values("); ok {
			series, label, _ := strings.Cut(strings.TrimSuffix(query, ")"), ", ")
			d.until("values of $"+v.Name, func() bool { return d.has(fmt.Sprintf("count by (%s) (%s)", label, series)) })
		}
	}
	d.until("all rules were evaluated and are healthy", func() bool { return d.rulesAreHealthy() })
}

// rulesAreHealthy reports whether all rules were evaluated. It fails where one
// cannot be, or fires on healthy nodes.
func (d *database) rulesAreHealthy() bool {
	d.t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, State, Health, LastError string }
		}
	}
	d.ask("rules", nil, &data)
	healthy := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.LastError != "" || r.State == "firing" {
				d.t.Fatalf("%s: %s %s", r.Name, r.State, r.LastError)
			}
			if r.Health == "ok" {
				healthy++
			}
		}
	}
	return healthy == len(alerts)+len(recordings)
}
