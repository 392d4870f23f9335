package console

import (
	"fmt"
	"html"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// leads returns where a page leads.
func (n *ownNode) leads(path string) string {
	n.t.Helper()
	return n.get(path, false).header.Get("Location")
}

// shows waits for a text of a page, as a person without a login sees it.
func (n *ownNode) shows(path string, texts ...string) {
	n.t.Helper()
	for _, text := range texts {
		n.Until(path+" shows "+text, func() bool { return strings.Contains(visible(n.get(path, false).body), text) })
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// visible returns a page's text.
func visible(body string) string { return html.UnescapeString(tags.ReplaceAllString(body, "")) }

// A node that has counted nothing says how to begin, and no longer when an event has
// come, nor after a restart.
func TestNothingCounted(t *testing.T) {
	n := start(t, "")
	if to := n.leads("/"); to != "/welcome" {
		t.Errorf("/ leads to %q", to)
	}
	n.has("/welcome", "Nothing is counted yet.", "nothing yet", "edgeguard snippets nginx", "edgeguard serve --log")
	n.shows("/blocked", "Nobody is blocked. Nothing is counted yet: how to begin.")
	n.ask(nearby, "/x", limit*9/10)
	n.shows("/", "no request is refused, and ", nearby)
	n.has("/welcome", "✓ Events come.", fmt.Sprintf("✓ %d", limit*9/10))
	n.shows("/blocked", "Nobody is blocked. 1 key is counted; the nearest to a limit is "+nearby+", at 90.0 % of site. Who is near a limit?")
	n.Stop()
	n.Launch()
	n.Until("it is ready again", func() bool { s, err := n.admin.Status(t.Context()); return err == nil && s.Ready })
	if to := n.leads("/"); to != "" {
		t.Errorf("/ leads to %q after a restart", to)
	}
}

// The commands of the page Welcome do what it says, as they are copied from it.
func TestWaysIn(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	n := start(t, "")
	command := regexp.MustCompile(`<code>(.*?)</code>`).FindAllStringSubmatch(n.get("/welcome", false).body, -1)
	if len(command) != 3 {
		t.Fatalf("%v", command)
	}
	out, err := exec.Command("sh", "-c", html.UnescapeString(command[2][1])).CombinedOutput()
	if text := strings.Join(strings.Fields(string(out)), " "); err != nil || text != fmt.Sprintf("%d 200 1 403", limit) {
		t.Errorf("%v: %q", err, text)
	}
	n.shows("/blocked", "203.0.113.9")
	programHere, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(programHere, strings.Fields(html.UnescapeString(command[1][1]))[1:]...).Output(); err != nil || !strings.Contains(string(out), "auth_request") {
		t.Errorf("%s: %v\n%s", command[1][1], err, out)
	}
}

func TestNoMatch(t *testing.T) {
	n := start(t, "")
	n.block("203.0.113.1", "x")
	n.block("203.0.113.2", "x")
	n.shows("/blocked?rule=site", "No block matches here.", "0 of 2 match.", "Clear filters")
}

// What is wrong with a node is at the top of every page, with what follows from it.
func TestMonitorOnEveryPage(t *testing.T) {
	n := start(t, "mode: monitor\n")
	n.block(offender, "x")
	for _, path := range pages {
		n.shows(path, "Monitor mode: nothing is refused; 1 address or network would be")
	}
}

func TestFailingEnforcer(t *testing.T) {
	n := start(t, "enforce: {files: [{file: $DIR/list.txt, format: plain, reload: [/bin/false]}]}\n")
	n.block(offender, "x")
	for _, path := range []string{"/blocked", "/address/" + offender, "/health"} {
		n.shows(path, "list.txt is written but not in force", "decided and not in force there")
	}
}

func TestCutOffFleet(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	store := redistest.NewProxy(t, server.Addr)
	n := start(t, fmt.Sprintf("fleet: {redis: \"redis://%s\", namespace: test, push: 100ms, max_nodes: 2}\n", store.Addr))
	n.Until("it has joined", func() bool { s, err := n.admin.Status(t.Context()); return err == nil && s.Fleet != nil && s.Fleet.Up })
	if body := n.get("/blocked", false).body; strings.Contains(body, "Cut off") {
		t.Errorf("%s", body)
	}
	store.Set(redistest.Fault{Refuse: true})
	store.Cut()
	n.Until("every page says so", func() bool {
		return regexp.MustCompile(`(?s)Cut off from the fleet for [^:]*: 1 alarm.*Redis.*: .+ since \d\d:\d\d:\d\d`).MatchString(visible(n.get("/blocked/near", false).body))
	})
	store.Set(redistest.Fault{})
	n.Until("it is over", func() bool { return !strings.Contains(n.get("/blocked", false).body, "Cut off") })
}
