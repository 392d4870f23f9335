package console

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// write appends lines to the node's log.
func (n *ownNode) write(lines ...string) {
	n.t.Helper()
	f, err := os.OpenFile(n.Path("access.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "")); err != nil {
		n.t.Fatal(err)
	}
}

// line is a request in the node's log, whose client came from a page of the site.
func line(addr, request string, status int) string {
	return fmt.Sprintf("%s - - [%s] \"%s HTTP/1.1\" %d 900 \"https://shop.example/\" \"Mozilla/5.0\"\n", addr, time.Now().UTC().Format("02/Jan/2006:15:04:05 -0700"), request, status)
}

// Who read pages before a rule of logins blocked him may be a customer: the front page says so and leads to why,
// and so does status; nothing unblocks beside it. It is said after a restart, and no longer once the block is lifted.
func TestMayBeCustomer(t *testing.T) {
	for mode, is := range map[string]string{"enforce": "is blocked", "monitor": "would be blocked"} {
		t.Run(mode, func(t *testing.T) {
			const customer, guesser = "203.0.113.9", "198.51.100.9"
			n := start(t, `  - {name: passwords, threshold: 5, guard: 1, match: {method: POST, path: ["*/signin"], status: 401}}
own_hosts: [shop.example]
mode: `+mode+`
sensors: {accesslog: [{file: $DIR/access.log, format: combined}]}
`)
			n.write(line(customer, "GET /a", 200), line(customer, "GET /b", 200), line(customer, "GET /c", 200), line(guesser, "GET /a", 200), line(guesser, "GET /signin", 200))
			n.Until("the pages are counted", func() bool { s, err := n.admin.Status(t.Context()); return err == nil && s.Events.Decided == 5 })
			for range 7 {
				n.write(line(customer, "POST /signin", 401), line(guesser, "POST /signin", 401))
			}
			claim := customer + " " + is + " and may be a customer: it was served three or more different pages of this site before it went over passwords."
			n.shows("/", claim, "and one thing needs you.")
			page := n.get("/", true).body
			if at := strings.Index(page, "Needs you"); !strings.Contains(page[at:], `href="/address/`+customer+`?view=blocked"`) || strings.Contains(page, "/unblock?prefix="+customer) {
				t.Errorf("it leads elsewhere: %s", page[at:])
			}
			n.shows("/address/"+customer+"?view=blocked", "It was served three or more different pages of this site before: it may be a customer, or somebody who fetched them to look like one.")
			n.shows("/address/"+guesser+"?view=blocked", "6 attempts, and the limit is 5.")
			if body := visible(n.get("/address/"+guesser+"?view=blocked", false).body); strings.Contains(body, "may be a customer") {
				t.Error("a guesser is said to be one")
			}
			n.Stop()
			n.Launch()
			n.Until("it is ready again", func() bool { s, err := n.admin.Status(t.Context()); return err == nil && s.Ready })
			n.shows("/", claim)
			if _, err := n.admin.Unblock(t.Context(), customer, "a customer"); err != nil {
				t.Fatal(err)
			}
			n.shows("/", "and nothing needs you.")
		})
	}
}
