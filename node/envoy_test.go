package node

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"edgeguard/sensor/envoy"
)

// envoyClient asks at a unix socket, as Envoy does by gRPC.
type envoyClient struct {
	*testing.T
	http.Client
}

func newEnvoy(t *testing.T, socket string) *envoyClient {
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &p, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &envoyClient{t, http.Client{Transport: transport}}
}

// call returns the answer's message.
func (e *envoyClient) call(method string, message []byte) []byte {
	e.Helper()
	body := append(envoy.BeginFrame(nil), message...)
	envoy.EndFrame(body, 0)
	a, err := e.Post("http://edgeguard"+method, "application/grpc", bytes.NewReader(body))
	if err != nil {
		e.Fatal(err)
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(a.Body)
	if err != nil || a.Trailer.Get("Grpc-Status") != "0" || len(answer) < envoy.FrameHeadSize {
		e.Fatalf("%v, %v, %x", err, a.Trailer, answer)
	}
	return answer[envoy.FrameHeadSize:]
}

func piece(number int, write func(out []byte) []byte) []byte {
	return envoy.AppendMessage(nil, number, write)
}

// check reports whether ext_authz lets a request of an address through.
func (e *envoyClient) check(addr string) bool {
	e.Helper()
	source := piece(1, func(out []byte) []byte {
		return envoy.AppendMessage(out, 1, func(out []byte) []byte {
			return envoy.AppendMessage(out, 1, func(out []byte) []byte { return envoy.AppendText(out, 2, addr) })
		})
	})
	return !bytes.Contains(e.call(envoy.CheckMethod, piece(1, func(out []byte) []byte { return append(out, source...) })), []byte{0x08, 7})
}

// limit returns the answer of the rate limit service about an address and a rule.
func (e *envoyClient) limit(addr, rule string, hits uint64) []byte {
	e.Helper()
	entry := func(out []byte, key, value string) []byte {
		return envoy.AppendMessage(out, 1, func(out []byte) []byte { return envoy.AppendText(envoy.AppendText(out, 1, key), 2, value) })
	}
	descriptor := piece(2, func(out []byte) []byte { return entry(entry(out, "remote_address", addr), "edgeguard_rule", rule) })
	return e.call(envoy.LimitMethod, envoy.AppendWhole(descriptor, 3, hits))
}

// A node answers Envoy's two services at one address, from the same counts: an address over
// the limit is blocked, for both and in the lists.
func TestEnvoyAsks(t *testing.T) {
	u := newNode(t, shortDir(t), `
node: test
listen: {auth: [], envoy: ["unix:$DIR/envoy.sock"], admin: ["unix:$DIR/admin.sock"]}
state: $DIR/state
enforce: {files: [{file: $DIR/deny.conf, format: plain}]}
rules: [{name: small, threshold: 10, guard: 1, window: 5m}]
`).start()
	e := newEnvoy(t, u.folder+"/envoy.sock")
	for range 4 {
		if !e.check("203.0.113.9") {
			t.Fatal("refused below the limit")
		}
	}
	// 4 counted, then 5 more: one is left. The window is none of Envoy's units.
	limit := envoy.LimitStatus{Limit: &envoy.Limit{Rule: "small", Events: 10, Window: 5 * 60e9}, Left: 1, Reset: 5 * 60e9}
	want := (&envoy.LimitAnswer{Statuses: []envoy.LimitStatus{limit}}).Append(nil)
	if got := e.limit("203.0.113.9", "small", 5); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if !e.check("203.0.113.9") || e.check("203.0.113.9") || !e.check("203.0.113.10") {
		t.Error("the eleventh is not the first that is refused")
	}
	if got := e.limit("203.0.113.9", "small", 0); !bytes.HasPrefix(got, []byte{0x08, 2}) {
		t.Errorf("the rate limit service lets a blocked address pass: %x", got)
	}
	u.eventually("the list has it", func() bool { return read(t, u.folder, "deny.conf") == "203.0.113.9\n" })
	stats := u.view().Stats()
	if len(stats.Sources) != 1 || stats.Sources[0].Events != 9 {
		t.Errorf("%+v", stats.Sources)
	}
	var passed, denied uint64
	for _, d := range stats.Decisions {
		if d.Action == "pass" {
			passed += d.Count
		} else {
			denied += d.Count
		}
	}
	if passed != 7 || denied != 2 || stats.Sources[0].Name != "envoy unix:"+u.folder+"/envoy.sock" {
		t.Errorf("%d passed, %d refused: %+v", passed, denied, stats)
	}
}

// An Envoy whose trust is misspelt is a mistake of the config.
func TestEnvoyChecked(t *testing.T) {
	u := newNode(t, shortDir(t), small)
	u.yaml = `listen: {envoy: [{address: "unix:$DIR/envoy.sock", trust: ["0.0.0.0/0"]}]}`
	c, err := u.load()
	if err == nil {
		err = Check(c)
	}
	if err == nil {
		t.Error("all hosts are trusted")
	}
}
