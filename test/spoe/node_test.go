package spoe

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

// rulesOfNode count what a log or a table of HAProxy cannot see before the answer.
const rulesOfNode = `
rules:
- {name: login, match: {method: POST, host: [shop.example], path: [/login]}, threshold: 5, guard: 1, window: 5m, block_for: 10m}
- {name: agent, when: 'agent startsWith "scraper"', threshold: 3, guard: 1, window: 5m, block_for: 10m}
- {name: api, match: {path: ["/api/*"]}, key: {with: ["header:x-api-key"]}, action: deny, threshold: 4, guard: 1, window: 5m}
- {name: brief, match: {path: [/brief]}, threshold: 2, guard: 1, window: 1m, block_for: 1s}
`

// startNode runs a whole edgeguard that HAProxy asks.
func startNode(t *testing.T, rules string) *program.Process {
	t.Helper()
	n := program.NewNode(t, "node: test\nlisten: {auth: [], admin: [\"unix:$DIR/admin.sock\"]}\nstate: $DIR/state\n"+
		"haproxy: {spoe: [{listen: \"unix:$DIR/spoe.sock\", user: "+strconv.Itoa(os.Geteuid())+"}]}\n"+rules)
	n.Launch()
	n.Until("edgeguard listens", func() bool { _, err := os.Stat(n.Path("admin.sock")); return err == nil })
	return n
}

// command runs one of edgeguard's that must succeed.
func command(t *testing.T, n *program.Process, args ...string) string {
	t.Helper()
	programHere, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(programHere, append(args, "--admin", "unix:"+n.Path("admin.sock"))...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// as returns the headers of a request of a client.
func as(client string, more ...string) []string {
	return append([]string{"X-Test-Client", client}, more...)
}

// statuses asks n times and returns the statuses that came, one after the other.
func statuses(t *testing.T, p *proxy, n int, method, path string, header ...string) (all []int) {
	t.Helper()
	for range n {
		all = append(all, ask(t, p, "127.0.0.1", method, path, header...).status)
	}
	return all
}

func passes(t *testing.T, p *proxy, client string) bool {
	t.Helper()
	return ask(t, p, "127.0.0.1", "GET", "/", as(client)...).status == http.StatusNoContent
}

func wantStatuses(t *testing.T, what string, got []int, passed int) {
	t.Helper()
	for i, status := range got {
		want := http.StatusNoContent
		if i >= passed {
			want = http.StatusTooManyRequests
		}
		if status != want {
			t.Errorf("%s: %v, want %d of 204 and then 429", what, got, passed)
			return
		}
	}
}

// Rules on host, path, User-Agent and a header refuse the request after the limit, and
// not the one after it. A block is in force for all of its address, a denial is not.
func TestNodeRules(t *testing.T) {
	n := startNode(t, rulesOfNode)
	p := startProxy(t, snippets.Values{Spoe: "unix:" + n.Path("spoe.sock"), Headers: []string{"x-api-key"}}, patient)
	for _, client := range []struct{ offender, sameKey, key, neighbour string }{
		{"203.0.113.7", "203.0.113.7", "203.0.113.7", "203.0.113.8"},
		{"2001:db8:0:7::1", "2001:db8:0:7::2", "2001:db8:0:7::/64", "2001:db8:0:8::1"},
	} {
		login := as(client.offender, "Host", "shop.example")
		wantStatuses(t, "another host", statuses(t, p, 7, "POST", "/login", as(client.offender, "Host", "other.example")...), 7)
		wantStatuses(t, "another method", statuses(t, p, 7, "GET", "/login", login...), 7)
		wantStatuses(t, "login", statuses(t, p, 7, "POST", "/login?next=/", login...), 5)
		if passes(t, p, client.offender) || passes(t, p, client.sameKey) {
			t.Error("a blocked address passes elsewhere")
		}
		if !passes(t, p, client.neighbour) {
			t.Error("the neighbour is refused")
		}
		command(t, n, "blocks", "remove", client.key)
		if !passes(t, p, client.offender) {
			t.Error("an unblocked address is refused")
		}
		wantStatuses(t, "User-Agent", statuses(t, p, 5, "GET", "/", as(client.offender, "User-Agent", "scraper/1 (a, b)")...), 3)
		command(t, n, "allow", "add", client.key, "--for", "5m", "--reason", "test")
		wantStatuses(t, "allowed", statuses(t, p, 9, "GET", "/", as(client.offender, "User-Agent", "scraper/1")...), 9)
		wantStatuses(t, "key", statuses(t, p, 6, "GET", "/api/x", as(client.neighbour, "X-Api-Key", "one")...), 4)
		wantStatuses(t, "another key", statuses(t, p, 4, "GET", "/api/x", as(client.neighbour, "X-Api-Key", "two")...), 4)
		if !passes(t, p, client.neighbour) {
			t.Error("a denial is in force for other paths")
		}
	}
	command(t, n, "blocks", "add", "198.51.100.0/24", "--for", "5m", "--reason", "test")
	if a := ask(t, p, "127.0.0.1", "GET", "/", as("198.51.100.9")...); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("a block by hand of a network: %+v", a)
	}
	wantStatuses(t, "brief", statuses(t, p, 3, "GET", "/brief", as("192.0.2.77")...), 2)
	until(t, "the block has expired", func() bool { return passes(t, p, "192.0.2.77") })
	if out := command(t, n, "status", "--json"); !strings.Contains(out, `"spoe unix:`+n.Path("spoe.sock")) {
		t.Errorf("status has no source spoe: %s", out)
	}
}

// In mode monitor all pass.
func TestNodeMonitors(t *testing.T) {
	n := startNode(t, "mode: monitor\n"+rulesOfNode)
	p := startProxy(t, snippets.Values{Spoe: "unix:" + n.Path("spoe.sock")}, patient)
	wantStatuses(t, "monitored", statuses(t, p, 9, "POST", "/login", as("203.0.113.7", "Host", "shop.example")...), 9)
	if out := command(t, n, "blocks", "--json"); !strings.Contains(out, "203.0.113.7") {
		t.Errorf("the crossing is not reported: %s", out)
	}
}

// Whatever becomes of edgeguard under load, every request is answered, and the
// neighbour's is never refused.
func TestNodeComesAndGoes(t *testing.T) {
	n := startNode(t, rulesOfNode)
	p := startProxy(t, snippets.Values{Spoe: "unix:" + n.Path("spoe.sock")}, asItIs)
	var refused, passed atomic.Uint64 // of the offender
	done := make(chan struct{})
	var load sync.WaitGroup
	defer load.Wait()
	defer close(done)
	for i := range 4 {
		load.Go(func() {
			client, header := "203.0.113."+strconv.Itoa(7+i/2), []string(nil)
			if i < 2 {
				header = []string{"User-Agent", "scraper"}
			}
			for {
				select {
				case <-done:
					return
				default:
				}
				a, err := try(p, "127.0.0.1", "GET", "/", as(client, header...)...)
				switch {
				case err != nil:
					t.Errorf("client %d: %v", i, err)
					return
				case a.status == http.StatusTooManyRequests && i < 2:
					refused.Add(1)
				case a.status == http.StatusNoContent:
					if i < 2 {
						passed.Add(1)
					}
				default:
					t.Errorf("client %d: status %d", i, a.status)
				}
			}
		})
	}
	more := func(of *atomic.Uint64) func() bool {
		before := of.Load()
		return func() bool { return of.Load() > before+20 }
	}
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(n.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the offender is refused", more(&refused))
	n.Kill()
	until(t, "killed: the offender passes", more(&passed))
	n.Launch()
	until(t, "started: the offender is refused", more(&refused))
	signal(syscall.SIGSTOP)
	until(t, "stopped: the offender passes", more(&passed))
	until(t, "stopped: HAProxy knows", func() bool { return p.serverIs("DOWN") })
	signal(syscall.SIGCONT)
	until(t, "continued: the offender is refused", more(&refused))
	n.Stop()
	until(t, "ended: the offender passes", more(&passed))
	n.Launch()
	until(t, "started again: the offender is refused", more(&refused))
	command(t, n, "reload")
	until(t, "reloaded: the offender is refused", more(&refused))
}

// A log says that twelve logins failed: HAProxy refuses the next, and nothing else.
func TestNodeDeniesByAnswers(t *testing.T) {
	n := startNode(t, "sensors: {accesslog: [{file: $DIR/access.log, format: combined, emit: response}]}\n"+
		"rules: [{name: login, match: {method: POST, path: /login, status: 401}, threshold: 11, guard: 1, window: 5m, action: deny}]\n")
	p := startProxy(t, snippets.Values{Spoe: "unix:" + n.Path("spoe.sock")}, patient)
	const client = "203.0.113.9"
	wantStatuses(t, "before", statuses(t, p, 12, "POST", "/login", as(client)...), 12)
	log, err := os.Create(n.Path("access.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	for range 12 {
		fmt.Fprintf(log, "%s - - [%s] \"POST /login HTTP/1.1\" 401 5 \"-\" \"-\"\n", client, time.Now().Format("02/Jan/2006:15:04:05 -0700"))
	}
	var last answer
	until(t, "a login is refused", func() bool {
		last = ask(t, p, "127.0.0.1", "POST", "/login", as(client)...)
		return last.status == http.StatusTooManyRequests
	})
	if last.header.Get("Retry-After") == "" {
		t.Errorf("%+v", last)
	}
	wantStatuses(t, "another method", statuses(t, p, 1, "GET", "/login", as(client)...), 1)
	wantStatuses(t, "somebody else", statuses(t, p, 1, "POST", "/login", as("203.0.113.10")...), 1)
	if !passes(t, p, client) {
		t.Error("another path is refused")
	}
}
