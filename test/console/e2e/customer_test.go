package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Whom a rule of logins blocked after pages of the site were served to him is named on the front page, with the way to
// why, at every width and in both modes, and nothing beside it unblocks.
func TestMayBeCustomer(t *testing.T) {
	for mode, are := range map[string]string{"enforce": "are blocked", "monitor": "would be blocked"} {
		t.Run(mode, func(t *testing.T) {
			n := start(t, "edge-1", `
mode: `+mode+`
own_hosts: [shop.example]
sensors: {accesslog: [{file: $DIR/access.log, format: combined}]}
rules: [{name: passwords, threshold: 5, guard: 1, match: {method: POST, path: ["*/signin"], status: 401}}]
`)
			write := func(request string, status int) {
				var lines strings.Builder
				for _, addr := range []string{"203.0.113.9", "198.51.100.9", "2001:db8:1:2:3:4:5:6"} {
					fmt.Fprintf(&lines, "%s - - [%s] \"%s HTTP/1.1\" %d 900 \"https://shop.example/\" \"Mozilla/5.0\"\n", addr, time.Now().UTC().Format("02/Jan/2006:15:04:05 -0700"), request, status)
				}
				f, err := os.OpenFile(n.Path("access.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, err := f.WriteString(lines.String()); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 3 {
				write(fmt.Sprintf("GET /page-%d", i), 200)
			}
			n.Until("the pages are counted", func() bool { return n.status().Events.Decided == 9 })
			for range 7 {
				write("POST /signin", 401)
			}
			b, axe := newTab(t), readAxe(t)
			b.operator()
			b.open(n.shown + "/")
			b.until("they are named", `document.querySelector("main").innerText.includes("3 addresses `+are+` and may be customers: each was served three or more different pages of this site before it went over a rule of logins.")`)
			for _, l := range []look{{width: 320, scheme: "light", forced: true}, {width: 768, scheme: "dark"}, {width: 1440, scheme: "light"}} {
				b.as(l)
				b.visit(n, "/")
				b.wrong("/", l)
				b.axe(axe, "/", l)
			}
			if eval[bool](b, `document.querySelector('main a[href^="/unblock"]') !== null`) {
				t.Error("an unblock stands beside the claim")
			}
			b.click(`.banner a[href="/address/203.0.113.9?view=blocked"]`)
			b.until("why is shown", `document.querySelector("main").innerText.includes("It was served three or more different pages of this site before")`)
		})
	}
}
