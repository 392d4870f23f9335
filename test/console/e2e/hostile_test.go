package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"edgeguard/internal/program"
)

// console runs `edgeguard console` on the node's host and returns the link.
func (n *node) console() string {
	n.t.Helper()
	out, err := exec.CommandContext(n.t.Context(), os.Getenv(program.Built), "console", "--admin", "unix:"+n.Path("admin.sock")).Output()
	link, _, _ := strings.Cut(string(out), "\n")
	if err != nil || !strings.HasPrefix(link, "http://") {
		n.t.Fatalf("%v: %s", err, out)
	}
	return link
}

// at waits until the tab is at an address.
func (b *tab) at(address string) {
	b.t.Helper()
	b.until("it is at "+address, fmt.Sprintf("location.href === %q && document.readyState === 'complete'", address))
}

// hostilePage does to a node all that it can. It is filled in with the node's
// address, and with a link that the page should not know.
const hostilePage = `<!doctype html><title>hostile</title>
<img src="NODE/logout"><img src="NODE/api/v1/status"><iframe name="frame" src="NODE/blocked"></iframe><iframe name="target"></iframe>
<link rel="prefetch" href="LINK"><link rel="stylesheet" href="NODE/blocked"><script src="NODE/api/v1/blocks"></script>
<form id="a" method="post" action="NODE/logout" target="target"></form>
<form id="b" method="post" action="NODE/sessions/end" target="target"><input name="csrf" value="00"></form>
<form id="c" method="post" action="NODE/api/v1/blocks" enctype="text/plain" target="target"><input name='{"prefix":"203.0.113.66","for":"1h","reason":"' value='"}'></form>
<form id="d" method="post" action="NODE/login" target="target"><input name="token" value="wrong"></form>
<script>
window.read = [];
const send = (path, options) => fetch("NODE" + path, {credentials: "include", ...options}).then(r => r.text()).then(t => { if (t) window.read.push(path + ": " + t) }, () => {});
const json = '{"prefix":"203.0.113.66","for":"1h"}';
(async () => {
	await send("/api/v1/status"); await send("/blocked"); await send("/login");
	await send("/logout", {method: "POST", mode: "no-cors", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: "csrf=00"});
	await send("/sessions/end", {method: "POST", mode: "no-cors", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: "csrf=00"});
	await send("/api/v1/blocks", {method: "POST", mode: "no-cors", headers: {"Content-Type": "text/plain"}, body: json});
	await send("/api/v1/blocks", {method: "POST", headers: {"Content-Type": "application/json"}, body: json});
	await send("/api/v1/sessions", {method: "DELETE", headers: {"Content-Type": "application/json"}});
	navigator.sendBeacon("NODE/api/v1/blocks", new Blob([json], {type: "text/plain"}));
	await new Promise(done => { const s = new WebSocket("NODE".replace("http", "ws") + "/api/v1/events"); s.onmessage = e => window.read.push("socket: " + e.data); s.onerror = s.onclose = done; });
	await new Promise(done => { const s = new EventSource("NODE/api/v1/events", {withCredentials: true}); s.onmessage = e => window.read.push("events: " + e.data); s.onerror = () => { s.close(); done(); }; });
	try { window.read.push("frame: " + window.frames.frame.document.body.innerText) } catch {}
	for (const id of ["a", "b", "c", "d"]) {
		await new Promise(done => { document.querySelector("[name=target]").onload = done; document.getElementById(id).submit() });
	}
	window.done = true;
})();
</script>`

// A hostile page in the browser of an operator changes nothing and reads nothing:
// neither one of another site, nor one of another port of the node's own host.
func TestHostilePage(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.ask(nearby, "/x", 1) // a login leads to another page while nothing is counted
	for name, host := range map[string]string{"another site": "localhost", "another port": "127.0.0.1"} {
		t.Run(name, func(t *testing.T) {
			operator := newTab(t)
			operator.open(n.console())
			operator.at(n.base + "/")
			unused := n.console()
			before := n.audits()

			var mu sync.Mutex
			leaked := ""
			evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				leaked += r.Header.Get("Cookie")
				mu.Unlock()
				fmt.Fprint(w, strings.NewReplacer("NODE", n.base, "LINK", unused).Replace(hostilePage))
			}))
			defer evil.Close()
			_, port, _ := net.SplitHostPort(evil.Listener.Addr().String())
			b := operator.another()
			b.expects("") // all that it does fails
			b.open("http://" + host + ":" + port + "/")
			b.until("it has done all", "window.done === true")
			if read := eval[[]string](b, "window.read"); len(read) > 0 {
				t.Errorf("it read %q", read)
			}
			mu.Lock()
			if name == "another site" && leaked != "" {
				t.Errorf("it received %s", leaked)
			}
			mu.Unlock()
			if after := n.audits(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if n.explain("203.0.113.66").Block != nil {
				t.Error("it blocked an address")
			}
			operator.open(n.base + "/blocked")
			operator.until("the operator is still logged in", `document.querySelector(".me a").textContent === "operator"`)
			friend := newTab(t)
			friend.open(unused)
			friend.at(n.base + "/")
		})
	}
}

// audits returns what the node's audit has.
func (n *node) audits() string {
	n.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", n.Path("admin.sock"))
	}}}
	answer, err := client.Get("http://node/api/v1/audit")
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var body strings.Builder
	if err := answer.Write(&body); err != nil {
		n.t.Fatal(err)
	}
	_, after, _ := strings.Cut(body.String(), "\r\n\r\n")
	return after
}
