package console

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/internal/program"
)

// withCookie is a browser that is logged in.
type withCookie struct{ cookie *http.Cookie }

func (w withCookie) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.AddCookie(w.cookie)
	return http.DefaultTransport.RoundTrip(r)
}

// first is a node without a config that follows a log.
func first(t *testing.T) *ownNode {
	t.Helper()
	if _, err := os.Stat("/etc/edgeguard/edgeguard.yaml"); err == nil {
		t.Skip("this host has a config, and the first minute is without one")
	}
	n := &ownNode{Process: program.NewNode(t, ""), t: t, base: "http://127.0.0.1:9190"}
	if err := os.Mkdir(n.Path("run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.Path("access.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.Args, n.Env = []string{"serve", "--log", n.Path("access.log")}, []string{"XDG_RUNTIME_DIR=" + n.Path("run")}
	n.launch()
	return n
}

// launch starts it and waits until its pages answer.
func (n *ownNode) launch() {
	n.t.Helper()
	following := strings.Count(n.Said(), "msg=following") + 1
	n.Launch()
	n.Until("it is ready", func() bool {
		answer, err := http.Get(n.base + "/readyz")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	n.Until("it follows the log", func() bool { return strings.Count(n.Said(), "msg=following") == following })
	n.Until("its socket is there", func() bool {
		found, _ := nodeaddr.Host{Runtime: n.Path("run"), User: os.Geteuid()}.Find()
		return len(found) == 1 || strings.Contains(n.Said(), "no unix socket")
	})
}

// sockets are the files in the node's private folder.
func (n *ownNode) sockets() []string {
	found, _ := filepath.Glob(n.Path("run/edgeguard/*"))
	return found
}

// command runs edgeguard as the user of the node does.
func (n *ownNode) command(args ...string) (string, error) {
	n.t.Helper()
	programHere, err := program.Build()
	if err != nil {
		n.t.Fatal(err)
	}
	c := exec.CommandContext(n.t.Context(), programHere, args...)
	c.Env = append(os.Environ(), n.Env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// logIn opens the link of `edgeguard console`.
func (n *ownNode) logIn() {
	n.t.Helper()
	out, err := n.command("console")
	link, _, _ := strings.Cut(out, "\n")
	if at := n.sockets(); err != nil || len(at) != 1 || !strings.HasPrefix(link, n.base+"/login?link=") || !strings.Contains(out, "\nnode: unix:"+at[0]+"\n") {
		n.t.Fatalf("%v, the sockets are %v\n%s", err, at, out)
	}
	opened := n.get(strings.TrimPrefix(link, n.base), false)
	cookie := (&http.Response{Header: opened.header}).Cookies()
	if opened.status != http.StatusSeeOther || len(cookie) != 1 {
		n.t.Fatalf("the link: %d %v\n%s", opened.status, opened.header, opened.body)
	}
	n.operator = &http.Client{Transport: withCookie{cookie[0]}}
}

// Who has just built edgeguard points it at a log, sees the first offender, logs in by
// a command without arguments, and unblocks: no file is edited.
func TestFirstMinute(t *testing.T) {
	if !program.Alone(t) {
		return
	}
	begun := time.Now()
	n := first(t)
	for _, want := range []string{"console at " + n.base + ": ", "; log in with edgeguard console\n", "admin at unix:" + n.Path("run/edgeguard/")} {
		if !strings.Contains(n.Said(), want) {
			t.Errorf("serve does not say %q:\n%s", want, n.Said())
		}
	}
	log, err := os.OpenFile(n.Path("access.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	line := fmt.Sprintf("%s - - [%s] \"GET /x HTTP/1.1\" 200 612 \"-\" \"curl/8.0\"\n", offender, time.Now().Format("02/Jan/2006:15:04:05 -0700"))
	if _, err := log.WriteString(strings.Repeat(line, 1901)); err != nil {
		t.Fatal(err)
	}
	n.Until("the offender is on the page", func() bool { return n.lists(offender) })
	t.Logf("the first blocked address was on the page %.2f s after `serve --log FILE`; at most 10 s are right", time.Since(begun).Seconds())

	if p := n.post("/unblock", url.Values{"prefix": {offender}}, false); p.status < 400 {
		t.Errorf("without a login: %d\n%s", p.status, p.body)
	}
	n.logIn()
	if done := n.act("unblock", offender, note("me")); done.status != http.StatusOK || !strings.Contains(done.body, offender+" is unblocked on this node.") {
		t.Fatalf("%d\n%s", done.status, done.body)
	}
	if n.lists(offender) {
		t.Error("it is unblocked, and on the page")
	}
	if out, err := n.command("blocks", "add", "198.51.100.9", "--reason", "a scraper"); err != nil || !n.lists("198.51.100.9") {
		t.Errorf("blocks add: %v\n%s", err, out)
	}
}

// After kill -9 the command finds the next node and not the remains of the first, and
// a node that was ended leaves nothing.
func TestFirstMinuteAgain(t *testing.T) {
	if !program.Alone(t) {
		return
	}
	n := first(t)
	n.Kill()
	if len(n.sockets()) != 1 {
		t.Fatalf("%v: this tests what a killed node leaves", n.sockets())
	}
	if out, err := n.command("console"); err == nil || !strings.Contains(out, "127.0.0.1:9190") {
		t.Errorf("no node runs: %v\n%s", err, out)
	}
	n.launch()
	n.logIn()
	n.Stop()
	if left := n.sockets(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Where the folder of the sockets is not the user's alone, the node runs without a
// socket and says why.
func TestFirstMinuteWithoutSocket(t *testing.T) {
	if !program.Alone(t) {
		return
	}
	n := first(t)
	n.Stop()
	if err := os.Chmod(n.Path("run/edgeguard"), 0o755); err != nil {
		t.Fatal(err)
	}
	n.launch()
	if said := n.Said(); !strings.Contains(said, "no unix socket") || !strings.Contains(said, "chmod 700 "+n.Path("run/edgeguard")) {
		t.Errorf("%s", said)
	}
	if out, err := n.command("console"); err == nil || !strings.Contains(out, "chmod 700") {
		t.Errorf("%v\n%s", err, out)
	}
}

var blockedLink = regexp.MustCompile(`<a [^>]*href="/address/([^"]+)"`)

// lists reports whether the page of the blocks has the address.
func (n *ownNode) lists(addr string) bool {
	n.t.Helper()
	p := n.get("/blocked", false)
	_, table, _ := strings.Cut(p.body, `<table class="blocks`)
	for _, link := range blockedLink.FindAllStringSubmatch(table, -1) {
		if link[1] == addr {
			return true
		}
	}
	return false
}
